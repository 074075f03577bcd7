"""Where the parts of queries are evaluated when events arise at many sites."""
