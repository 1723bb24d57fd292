"""What it takes to write a controller, compensator, integrator, actuator, specimen, imperfection or back end.

The one place to import these names from: each is the very one of the room that describes it, and public names
are kept (docs/releasing.md). The recipes of docs/architecture.md are written with them. A link is a file of
C: docs/realtime-driver.md.

>>> from bondloop.control.control_law import ControlLaw, Desired
>>> from bondloop.control.base import Measured
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

from bondloop.bondgraph import Domain, Model, One, Port, Zero
from bondloop.bondgraph.elements import GY, MC, MGY, MR, MTF, TF, C, I, Input, Multiport, R, Se, Sf
from bondloop.control import Compensator, ControlLaw, Controller, Design, Desired, Measured
from bondloop.devices import Imposed, OdeSpecimen
from bondloop.engine import System
from bondloop.engine.codegen import BACKENDS, Backend, Ends
from bondloop.engine.data import Parameter, describable
from bondloop.engine.ir import (
    Assign,
    Const,
    Expr,
    Op,
    Update,
    Var,
    evaluate,
    function,
    instantiate,
    select,
    substitute,
    variables,
)
from bondloop.engine.passes import Applied, Context
from bondloop.errors import BondloopError, InputError, ModelError
from bondloop.integrate import Discretised, Integrator
from bondloop.integrate.structural import Motion, Restoring, Scheme, Stepped, simulate_structure
from bondloop.rigs import Sensor, mounted
from bondloop.rigs.imperfections import Chain, Imperfection, chain

__all__ = [
    "BACKENDS",
    "GY",
    "MC",
    "MGY",
    "MR",
    "MTF",
    "TF",
    "Applied",
    "Assign",
    "Backend",
    "BondloopError",
    "C",
    "Chain",
    "Compensator",
    "Const",
    "Context",
    "ControlLaw",
    "Controller",
    "Design",
    "Desired",
    "Discretised",
    "Domain",
    "Ends",
    "Expr",
    "I",
    "Imperfection",
    "Imposed",
    "Input",
    "InputError",
    "Integrator",
    "Measured",
    "Model",
    "ModelError",
    "Motion",
    "Multiport",
    "OdeSpecimen",
    "One",
    "Op",
    "Parameter",
    "Port",
    "R",
    "Restoring",
    "Scheme",
    "Se",
    "Sensor",
    "Sf",
    "Stepped",
    "System",
    "Update",
    "Var",
    "Zero",
    "chain",
    "describable",
    "evaluate",
    "function",
    "instantiate",
    "mounted",
    "select",
    "simulate_structure",
    "substitute",
    "variables",
]
