"""Files of the ARGUS family: records, metadata, cells, recodes, a-priori files and solver instances."""
