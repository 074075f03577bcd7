"""Search for a shared plan over arrays: trees, what they cost together, and steps between plans."""
