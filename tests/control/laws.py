"""A test with a controller of one's own on one or two transfer systems, and a law alone in a tick."""

# ruff: noqa: RUF012 - states are read, never changed

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.control import ControlLaw, Measured
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Var
from bondloop.engine.ir.statement import Assign
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.engine.passes.block import Context
from bondloop.extend import Parameter


class PIWithLead(ControlLaw):
    """The sample controller of Silva et al. 2020: a lead on the demand, then PI on the error, by Tustin."""

    lead: float = 50.83163360273612
    corner: float = 8570.397339444286
    proportional: float = 2.0
    integral: Parameter = Parameter(95.0, least=0)
    states = {"demand_before": 0.0, "lead_before": 0.0, "error_before": 0.0, "sum": 0.0}
    record = {"sum": "m"}

    def step(self, desired, measured):
        s, x = 2 / self.period, desired.displacement
        ahead = (
            (self.lead * s + self.corner) * x
            + (self.corner - self.lead * s) * self.demand_before
            + (s - self.corner) * self.lead_before
        ) / (s + self.corner)
        error = ahead - measured.displacement
        self.sum = self.sum + self.integral / s * (error + self.error_before)
        self.demand_before, self.lead_before, self.error_before = x, ahead, error
        return self.proportional * error + self.sum


def floor(controller, *, count=1, **options):
    """One mass with a spring on the rig, or two of them."""
    model = Model("floor")
    cuts = []
    for i in range(count):
        v, push, spring = One(), Se(f"F{i}"), C(stiffness=400.0 * (i + 1))
        setattr(model, f"v{i}", v)
        setattr(model, f"push{i}", push)
        setattr(model, f"spring{i}", spring)
        push >> v >> [I(mass=20.0), C(stiffness=5e4), R(damping=120.0), spring]
        cuts.append(f"v{i} >> spring{i}")
    if count > 1:
        model.between, model.link = Zero(), C(stiffness=1e4)
        model.v0 >> model.between >> model.v1
        model.between >> model.link
    numerical, physical = model.cut(*cuts)
    actuator = bl.transfer.MassSpringDamper(m=2, c=150, k=15e3, drive="position")
    rig = bl.rigs.Emulated(physical, [actuator] * count if count > 1 else actuator)
    excitation = {f"F{i}": bl.signals.Sine(100.0, 2.0 + i) for i in range(count)}
    return bl.HybridTest(
        numerical, rig=rig, controller=controller, excitation=excitation, rate=1000, **options
    )


def alone(law, x, y, period, backend):
    """The commands of a law in a tick of its own; demand and measured motion come from outside."""
    count, names = Var("k"), [Var("x"), Var("y")]
    applied = law.compensate(names[0], Measured(displacement=names[1]), Context("controller", count, period))
    out = Var("out")
    tick = Tick(
        "law", period, Var("t"), count, tuple(names), applied.states,
        applied.parameters, (*applied.steps, Assign(out, applied.value)), (Channel("out", out),),
    )  # fmt: skip
    return Runner(tick, backend).run(len(x), np.column_stack([x, y])).channels["out"]
