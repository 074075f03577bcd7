"""Files and topics: where events come from, where results go, and where queries are read."""
