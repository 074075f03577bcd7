"""Steps of shards: events and a frontier in, outcomes out."""
