"""Placing queries in networks: reference problems, the exact search for small ones, and a simulation."""
