"""Expressions, statements, systems and ticks: frozen data that all passes read and return."""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__ = [
    "Assign",
    "Const",
    "Expr",
    "Op",
    "Update",
    "Var",
    "evaluate",
    "function",
    "instantiate",
    "select",
    "substitute",
    "variables",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
