"""The same job as a file: strict recipes, and batches of other tools turned into them."""
