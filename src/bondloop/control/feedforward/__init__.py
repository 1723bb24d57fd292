"""Compensators with a fixed law that acts on the demand alone."""
