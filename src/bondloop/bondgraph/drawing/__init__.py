"""Drawings of bond graphs: what a model shows, where it is placed, and how it is drawn."""

from __future__ import annotations

from bondloop.bondgraph.drawing.geometry import Edge, Node
from bondloop.bondgraph.drawing.page import draw, layout, quality
from bondloop.bondgraph.drawing.sketch import sketch

__all__ = ["Edge", "Node", "draw", "layout", "quality", "sketch"]
