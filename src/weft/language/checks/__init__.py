"""Checks of bound queries: their patterns, the order of their times, what trends can aggregate."""
