"""What it takes to write a controller, compensator, integrator, actuator, specimen, imperfection or back end.

The one place to import these names from: each is the very one of the room that describes it, and public names
are kept (docs/releasing.md). The recipes of docs/architecture.md are written with them. A link is a file of
C: docs/realtime-driver.md.

>>> from bondloop.extend import ControlLaw, Desired, Measured
>>> class Lead(ControlLaw):
...     "Commands where the specimen should be a little later."
...
...     ahead: float = 0.01
...
...     def step(self, desired, measured):
...         return desired.displacement + self.ahead * desired.velocity
>>> Lead(ahead="20 ms").started(period=0.001).step(Desired(1.0, velocity=2.0), Measured(displacement=0.0))
1.04
"""

from __future__ import annotations

from bondloop.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
__all__ = [name for name in __dir__() if not name.startswith("_")]
