"""Beside the engine: the data of the demonstration, reference problems, and what the papers compare with."""
