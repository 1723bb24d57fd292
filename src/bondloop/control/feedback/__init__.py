"""Compensators with a loop of their own around the transfer system."""
