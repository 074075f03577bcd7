"""What outlives a step: a log of segments, and a journal."""
