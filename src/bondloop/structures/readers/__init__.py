"""Readers: matrices from files, and models that OpenSees runs."""
