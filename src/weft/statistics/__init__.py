"""What is known of the events: how often items arrive, how often predicates hold."""
