"""Assignments, evaluation, derivatives; continuous systems.

A bond graph with its causality assigned is an ordered list of small named assignments: its *program*. This
room holds that list and its readings.
"""

from __future__ import annotations

from bondloop.program.expr import Const, Expr, Op, Var, evaluate, function, select, variables
from bondloop.program.from_matrices import system_from_matrices
from bondloop.program.inverse_system import InverseSystem
from bondloop.program.statespace import StateSpace
from bondloop.program.system import System
from bondloop.program.zero_dynamics import ZeroDynamics

__all__ = [
    "Const",
    "Expr",
    "InverseSystem",
    "Op",
    "StateSpace",
    "System",
    "Var",
    "ZeroDynamics",
    "evaluate",
    "function",
    "select",
    "system_from_matrices",
    "variables",
]
