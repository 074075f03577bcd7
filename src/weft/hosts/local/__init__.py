"""Events of Arrow on this machine, without Spark."""
