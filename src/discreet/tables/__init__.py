"""Methods that protect tables, one folder for each family."""
