"""The numerical half of a test, as seen from its interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bondloop.bondgraph import Domain, bonds_of, domains_of, interfaces
from bondloop.display import brief
from bondloop.engine.ir import quantity_of
from bondloop.engine.passes import prefixed
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine import System
    from bondloop.engine.ir import Expr, Var
    from bondloop.substructure.coupler import Coupler


@dataclass(frozen=True)
class NumericalHalf:
    """A numerical half that takes forces and gives velocities at its interfaces.

    Attributes
    ----------
    system
        Its equations.
    efforts
        Inputs: the interface forces, as carried by the cut bonds.
    flows
        Expressions: the interface velocities.
    signs
        +1 where the cut bond points to the physical half, -1 where it points from it. The load on the
        transfer system is the bond's effort times this sign.
    excitations
        The other inputs.
    stated
        Domain of each interface, as the cut knows it; None where it cannot be told.
    coupler
        Geometry between the interfaces' coordinates and the transfer systems; None where each interface has
        a transfer system of its own.
    """

    system: System
    efforts: tuple[Var, ...]
    flows: tuple[Expr, ...]
    signs: tuple[int, ...]
    excitations: tuple[Var, ...]
    stated: tuple[Domain | None, ...] = ()
    coupler: Coupler | None = None

    __repr__ = brief

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Domain of every interface; translation where nothing tells it."""
        return domains_of(self.stated, (e.quantity for e in self.efforts), map(quantity_of, self.flows))


def orientation(half: Model) -> tuple[int, ...]:
    """For each interface +1 if its bond points out of this half, -1 if into it.

    Parameters
    ----------
    half
        As a cut returns it.
    """
    return tuple(1 if bonds_of(s)[0].head is s else -1 for s in interfaces(half))


def _given_forces(model: Model) -> System:
    """Compile a half, with forces imposed at its interfaces where its own causality leaves that open.

    Where no mass is at the interface but a damper, either can be imposed, force or velocity.
    """
    system = model.compile()
    if all(f"{end.path}.effort" in system.inputs for end in interfaces(model)):
        return system
    again = model.copy()
    for end in interfaces(again):
        end.imposes = "effort"
    try:
        other = again.compile()
    except ModelError:
        return system
    # The velocity of a spring's end is the rate of its force, which nothing measures.
    return system if other.input_rates else other


def numerical_half(model: Model, prefix: str = "") -> NumericalHalf:
    """Compile the numerical half; it must take forces and give velocities (Gawthrop 2005, assumption 1).

    Parameters
    ----------
    model
        The half, as a cut returns it.
    prefix
        Put before the names of its variables.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> half = numerical_half(gawthrop_three_mass.model().cut("m2.right >> m3.left")[0])
    >>> half.efforts, half.flows, half.excitations
    ((<Var interface.effort>,), (<Var m2.v.flow>,), (<Var r>,))
    """
    system = prefixed(_given_forces(model), prefix)
    by_name = dict(zip(system.inputs, system.input_vars, strict=True))
    efforts, flows = [], []
    for sensor in interfaces(model):
        path = prefix + sensor.path
        if f"{path}.effort" not in by_name:
            raise ModelError(
                f"{path}: the numerical half imposes the force here and would have to be given the velocity "
                "(Gawthrop 2005, assumption 1 does not hold); cut where the numerical half ends in a mass, "
                "so that "
                "it takes a force and gives a velocity"
            )
        efforts.append(by_name[f"{path}.effort"])
        flows.append(system.output_exprs[f"{path}.flow"])
    rest = tuple(u for u in system.input_vars if u not in efforts)
    stated = tuple(sensor.domain for sensor in interfaces(model))
    return NumericalHalf(system, tuple(efforts), tuple(flows), orientation(model), rest, stated)
