"""Queries, plans and placements as text."""
