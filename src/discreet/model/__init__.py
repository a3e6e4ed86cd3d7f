"""Plain data: hierarchies, specs, tables, microdata, releases, evidence and claims."""
