"""Normal forms to one shared plan."""
