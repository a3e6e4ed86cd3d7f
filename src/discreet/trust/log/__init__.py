"""The log of the table server: a signed hash chain with a Merkle tree, written by one process."""
