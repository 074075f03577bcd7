"""Aggregate the trends of one shard without building them."""
