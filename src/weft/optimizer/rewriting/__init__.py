"""Queries rewritten so that they share: one rule of MOTTO per file, and the planner that uses them."""
