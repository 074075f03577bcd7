"""Text and Python calls to patterns, and patterns back to text."""
