"""Kernels of trend aggregation."""
