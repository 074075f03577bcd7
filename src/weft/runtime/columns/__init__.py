"""Events as columns: how they are read, merged, compared and computed with."""
