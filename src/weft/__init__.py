"""Complex event processing for Spark: many patterns, one shared plan."""
