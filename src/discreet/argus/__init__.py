"""Batch files of τ-ARGUS: read, run, turned into recipes, and written from recipes."""
