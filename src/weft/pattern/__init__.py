"""Patterns: what the user means."""
