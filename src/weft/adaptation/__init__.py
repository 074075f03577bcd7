"""Statistics of a running stream, decisions to plan anew, and the change from one plan to another."""
