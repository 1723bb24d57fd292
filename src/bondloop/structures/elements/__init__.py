"""Finite elements; each computes the matrices of many elements of its kind at once."""
