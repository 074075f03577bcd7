"""Plans for many patterns together, one published algorithm per file."""
