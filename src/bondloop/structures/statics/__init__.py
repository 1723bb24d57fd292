"""Statics of structures: displacements under loads that stay, and the curve of a push."""

from bondloop.structures.statics.pushover import Pushover, Yielding, pushover
from bondloop.structures.statics.static import static

__all__ = ["Pushover", "Yielding", "pushover", "static"]
