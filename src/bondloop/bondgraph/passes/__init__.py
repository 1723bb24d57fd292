"""Passes from a drawn bond graph to its equations: flatten, assign causality, derive."""
