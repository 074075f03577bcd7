"""Search for a shared plan over arrays: trees, what they cost together, and steps from one plan to the next."""
