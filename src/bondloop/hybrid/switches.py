"""The two switches between the halves, and the simulated specimen alongside (du Bois 2010, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bondloop.bondgraph import Model, interfaces
from bondloop.engine.data import Described
from bondloop.engine.ir import Const, Expr, Quantity, Var
from bondloop.engine.passes import connect, prefixed
from bondloop.errors import InputError, ModelError
from bondloop.hybrid.arguments import expect
from bondloop.safety import FORCE_SWITCH, Switch
from bondloop.signals import Signal
from bondloop.substructure import orientation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bondloop.engine import System
    from bondloop.substructure import NumericalHalf


@dataclass(frozen=True, eq=False)
class Switches(Described, family="switches", alone=True):
    """How the halves are coupled: each switch goes continuously from 0 to 1.

    At 0 the displacement switch leaves the rig at rest and the force switch feeds back the force of the
    simulated specimen; at 1 the rig follows the numerical half and its measured force is fed back:
    f = gamma f_p + (1 - gamma) f_n (du Bois 2010, eq. 25).

    Parameters
    ----------
    displacement, force
        The switches.
    simulated
        A model of the physical half that runs alongside in the computer; without one f_n is zero.

    Examples
    --------
    >>> from bondloop.safety import Switch
    >>> switches = Switches(force=Switch(1.0, ramp=0.5))
    >>> switches.force.ramp, switches.simulated
    (0.5, None)
    """

    displacement: Switch = field(default_factory=Switch)
    force: Switch = field(default_factory=Switch)
    simulated: Model | None = None

    def __post_init__(self) -> None:
        for word in ("displacement", "force"):
            expect(getattr(self, word), Switch, f"Switches({word})", "bondloop.safety.Switch()")
        expect(self.simulated, (Model, type(None)), "Switches(simulated)", "a model of the physical half")

    def closed(self) -> Switches:
        """Return the same with both switches at 1 from the start: fully coupled."""
        return replace(self, displacement=Switch(1.0), force=Switch(1.0))

    def settled(self) -> Switches:
        """Return the same with each switch from the start where its schedule leads: at 1, or at a number."""
        displacement, force = (
            Switch(1.0 if isinstance(s.schedule, Signal) else s.schedule) if s.scheduled else s
            for s in (self.displacement, self.force)
        )
        return replace(self, displacement=displacement, force=force)


def blended(
    half: NumericalHalf, switches: Switches, shared: Mapping[str, Var] | None = None
) -> NumericalHalf:
    """Return the numerical half with the simulated specimen beside it and the force switch before it.

    Its efforts are the measured forces; the switch is one further input, the last of its excitations. Inputs
    of the simulated specimen that are the half's own, the ground's accelerations, are `shared` by name.
    """
    gamma = Var(FORCE_SWITCH, quantity=Quantity("switch"))
    measured = tuple(Var(f"measured {e.name}", quantity=e.quantity) for e in half.efforts)
    links: dict[Var, Expr] = {}
    parts = [half.system]
    simulated: list[Expr] = [Const(0.0)] * len(half.efforts)
    if switches.simulated is not None:
        simulated = _beside(half, switches.simulated, parts, links)
        for u in parts[-1].input_vars:
            own = (shared or {}).get(u.name)
            if own is not None:
                links[u] = own
    for effort, f_p, f_n in zip(half.efforts, measured, simulated, strict=True):
        links[effort] = gamma * f_p + (1.0 - gamma) * f_n
    system = connect(
        half.system.name, parts, links, half.system.output_exprs, inputs=[*measured, *half.excitations, gamma]
    )
    return replace(half, system=system, efforts=measured, excitations=(*half.excitations, gamma))


def _beside(half: NumericalHalf, model: Model, parts: list[System], links: dict[Var, Expr]) -> list[Expr]:
    """Join the simulated specimen to the numerical half; return its forces."""
    ends = interfaces(model)
    if len(ends) != len(half.flows):
        raise ModelError(
            f"the simulated specimen has {len(ends)} interfaces, the numerical half {len(half.flows)}; "
            "give a model of the same physical half"
        )
    system = prefixed(model.compile(), "simulated.")
    by_name = dict(zip(system.inputs, system.input_vars, strict=True))
    forces: list[Expr] = []
    for end, ours, theirs, flow in zip(ends, half.signs, orientation(model), half.flows, strict=True):
        path = f"simulated.{end.path}"
        if f"{path}.flow" not in by_name:
            raise ModelError(
                f"{path}: the simulated specimen begins with a mass, so it cannot take the numerical half's "
                "velocity; move that mass into the numerical half"
            )
        if ours == theirs:
            raise InputError(
                f"{path}: the bond of the simulated specimen points the wrong way; take the half of a cut"
            )
        links[by_name[f"{path}.flow"]] = flow
        forces.append(system.output_exprs[f"{path}.effort"])
    parts.append(system)
    return forces
