"""Measures the costs of a step: a trace of its time, and the memory of its phases."""
