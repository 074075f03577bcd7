"""Numba functions over columns; no knowledge of plans."""

from weft.kernels.cached_code import name_by_sources

name_by_sources()
