"""Why a rule matches or does not: how far it gets on given events, and what it misses most narrowly."""
