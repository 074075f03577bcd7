"""The local host, in one process: Arrow in, Arrow out, several threads, no Spark."""
