"""Run a plan over the events of one shard: partial matches as columns."""
