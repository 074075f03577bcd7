"""Files and topics by Spark: frames of events, and where the frames of results go."""
