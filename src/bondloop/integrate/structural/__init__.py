"""Schemes for structures with a measured restoring force, one per file."""

from __future__ import annotations

from bondloop.integrate.structural.alpha_os import AlphaOS
from bondloop.integrate.structural.base import Motion, Restoring, Scheme, Stepped
from bondloop.integrate.structural.catalogue import SCHEMES, find_scheme
from bondloop.integrate.structural.central_difference import CentralDifference
from bondloop.integrate.structural.chen_ricles import ChenRicles
from bondloop.integrate.structural.implicit import HHTAlpha, NewmarkImplicit
from bondloop.integrate.structural.kr_alpha import KRAlpha
from bondloop.integrate.structural.newmark_explicit import NewmarkExplicit
from bondloop.integrate.structural.rosenbrock import Rosenbrock
from bondloop.integrate.structural.simulate import Response, Work, simulate_structure, structure_tick, work

__all__ = [
    "SCHEMES",
    "AlphaOS",
    "CentralDifference",
    "ChenRicles",
    "HHTAlpha",
    "KRAlpha",
    "Motion",
    "NewmarkExplicit",
    "NewmarkImplicit",
    "Response",
    "Restoring",
    "Rosenbrock",
    "Scheme",
    "Stepped",
    "Work",
    "find_scheme",
    "simulate_structure",
    "structure_tick",
    "work",
]
