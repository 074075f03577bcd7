"""The reference matcher: the definition of a match set in plain Python, slow and obviously right."""
