"""Passes from a drawn bond graph to its equations: flatten, assign causality, derive. Each is a function.

>>> from bondloop.bondgraph import C, I, Model, One, Se
>>> from bondloop.bondgraph.passes import assign, derive, flatten
>>> m = Model("oscillator")
>>> m.force, m.v = Se("F"), One()
>>> _ = m.force >> m.v >> [I(mass=2), C(stiffness=8)]
>>> flat = flatten(m)
>>> flat
<FlatGraph oscillator: 4 nodes, 3 bonds>
>>> graph = assign(flat)
>>> print(graph)
force >>| v
v >>| I
v |>> C
>>> print(derive(graph).equations())
d/dt I.momentum     = -C.displacement*C.stiffness + F
d/dt C.displacement = I.momentum/I.mass
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__all__: list[str] = []

__getattr__, __dir__ = lazy_names(__name__, __file__)
