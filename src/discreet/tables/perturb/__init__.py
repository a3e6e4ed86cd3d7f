"""Methods that change numbers without a solver: noise tables, cell keys, small counts, noise, swapping."""
