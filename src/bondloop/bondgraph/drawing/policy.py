"""Sizes, whites and colours of a drawing. Lengths are in bonds: one unit is one bond on paper."""

from __future__ import annotations

from typing import Any

UNIT = 0.82
"""Inches on paper of one bond."""
SYMBOL, LABEL, SMALL = 13.0, 10.0, 8.5
"""Type sizes in points: symbols, labels of elements, labels of junctions."""
LARGEST_DRAWING = 2000
"""Nodes beyond which a drawing cannot be read."""
FOLDED = 80
"""A model with more parts than this has its sub-models folded, unless it is said otherwise."""
ROW = 11.0
"""Widest row of a spine before it is wrapped."""
SEARCHED = 100
"""Nodes of a graph with loops whose layout is searched at length."""

GAP = 0.22
"""Least white between two texts."""
CLEAR = 0.055
"""White between a bond and its symbol."""
CAPITAL = 0.66 * SYMBOL / 72 / UNIT
"""Height of a capital."""
STROKE = 0.085
"""Half the length of a causal stroke."""
SYMBOL_EM, LABEL_EM, LINE = 0.105, 0.082, 0.26
"""Half the width of a letter of a symbol, the width of a letter of a label, the height of its lines."""

FRAME, FRAME_IN_FRAME, FRAMES_APART = 0.16, 0.12, 0.12
"""White within a sub-model's frame, more where another frame is in it, and between two frames."""
FRAME_NAME = 0.17
"""Height of the name in a frame."""
SIDEWAYS = (0.0, 0.5, -0.5, 1.0, -1.0)
"""How far to the side of the straight way out of a frame a place is tried."""

PORT_HEIGHT, PORT_GAP = 0.13, 0.045
"""Height of the name of a port, and white between it and its bond."""
RING, BOX = 0.055, 0.1
"""White between a symbol and the ring or the box round it, to either side."""
RING_ABOVE = 0.07
"""The same above and below, of a ring."""
LEGEND_LINE, LEGEND_SIZE = 0.2, 8.5
"""Height of a line of the legend, and its type size in points."""

CUT, OVER, CLASH, NARROW, LONG, SLANT = 6.0, 8.0, 9.0, 2.0, 0.8, 1.0
"""Costs of the faults of a layout with loops: a text cut by a bond, bonds that cross, texts that overlap, a
sharp angle, a long bond, a slanted one."""
SAME = 1e6
"""Cost of two nodes in one place: never worth it."""

FACE = ["STIXGeneral", "DejaVu Serif", "DejaVu Sans"]
BLUE, RED, GREEN, PURPLE, GREY = "#0b5394", "#b03a0c", "#00664b", "#6a3d9a", "#5a5a5a"
GOLD, MAGENTA, SIGNAL_RED = "#8a6100", "#b0125b", "#d00000"
COLOURS = {"0": "black", "1": "black", "I": BLUE, "C": BLUE, "IC": BLUE, "R": RED, "RS": RED}
COLOURS |= dict.fromkeys(["Se", "Sf", "SS", "MSe", "MSf"], GREEN)
COLOURS |= dict.fromkeys(["TF", "MTF", "GY", "MGY"], PURPLE)
BOND_COLOURS = {"": "black", "loop": MAGENTA, "conflict": SIGNAL_RED}
DASHES: dict[str, Any] = {"": "solid", "loop": (0, (4.0, 1.8)), "conflict": "solid"}
"""How bonds are drawn, by their mark."""
SOURCES = frozenset({"Se", "Sf", "SS", "MSe", "MSf", "port"})
UPWARD = frozenset({"I", "C", "De", "Df", "IC"})
"""Symbols that are placed above their junction rather than below."""
