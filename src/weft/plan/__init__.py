"""The shared plan: what the machine does."""
