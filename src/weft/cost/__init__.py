"""What a plan costs, one cost model per file."""
