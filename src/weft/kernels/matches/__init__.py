"""Kernels of joins, lists and negations."""
