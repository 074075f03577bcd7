"""Where steps run: Spark today."""
