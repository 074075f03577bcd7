"""Evaluation orders for one normal form, one published algorithm per file."""
