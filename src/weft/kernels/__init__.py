"""Numba functions over columns; no knowledge of plans."""
