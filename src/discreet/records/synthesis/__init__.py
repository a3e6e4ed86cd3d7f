"""Synthesis of records: columns as models see them, trees, straight-line models, and draws from them."""
