"""Attention within the sequences of a bin, of one rank and of several that share it."""
