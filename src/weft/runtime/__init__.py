"""Runs a plan on one shard, without Spark."""
