"""CCL, the language of SAP Event Stream Processor: its statements as queries of our own."""
