"""Assignments, evaluation, derivatives; continuous systems.

A bond graph with its causality assigned is an ordered list of small named assignments: its *program*. This
room holds that list and its readings.
"""

from __future__ import annotations

from bondloop.data.kinds import describable
from bondloop.program.block import Applied, Context
from bondloop.program.expr import Const, Expr, Op, Var, evaluate, function, select, substitute, variables
from bondloop.program.positive_real import PositiveRealness, positive_realness
from bondloop.program.schedule import Assign
from bondloop.program.statespace import StateSpace
from bondloop.program.steady import SteadyState
from bondloop.program.system import System, system_from_matrices
from bondloop.program.tick import Update, instantiate
from bondloop.program.zero_dynamics import ZeroDynamics

__all__ = [
    "Applied",
    "Assign",
    "Const",
    "Context",
    "Expr",
    "Op",
    "PositiveRealness",
    "StateSpace",
    "SteadyState",
    "System",
    "Update",
    "Var",
    "ZeroDynamics",
    "describable",
    "evaluate",
    "function",
    "instantiate",
    "positive_realness",
    "select",
    "substitute",
    "system_from_matrices",
    "variables",
]
