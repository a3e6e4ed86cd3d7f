"""The table server: any table of a data set, at once, protected by the same methods as everywhere else."""
