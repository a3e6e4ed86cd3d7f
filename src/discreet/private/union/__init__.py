"""The union of files of two holders, without showing identifiers to each other."""
