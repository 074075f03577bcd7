"""Patterns to their normal form."""
