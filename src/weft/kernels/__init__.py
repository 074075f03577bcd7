"""Numba functions over columns; no knowledge of plans."""

from weft.kernels import compilation as compilation  # which counts from the first kernel on
from weft.kernels.cached_code import name_by_sources

name_by_sources()
