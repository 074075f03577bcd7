"""The public calls: queries and events in, a detection out."""
