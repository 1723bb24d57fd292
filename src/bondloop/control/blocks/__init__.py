"""Statements of a tick that controllers are made of: histories, filters, bounds, least squares, models."""
