"""Noise that is added to columns of numbers: draws, moments, and the ways of making moves of them."""
