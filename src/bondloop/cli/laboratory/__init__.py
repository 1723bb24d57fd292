"""Verbs of the laboratory: what moves a rig, plays one, serves one, watches a loop or stops it."""
