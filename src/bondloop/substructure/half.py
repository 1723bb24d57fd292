"""The numerical half of a test as seen from its interface, and the model of it that controllers follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Domain, bonds_of, domains_of, interfaces
from bondloop.display import brief
from bondloop.engine.ir import quantity_of
from bondloop.engine.passes import prefixed
from bondloop.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def _measured_forces(model: Model) -> System:
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
    system = prefixed(_measured_forces(model), prefix)
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


@dataclass(frozen=True)
class ReferenceModel:
    """The interface motion x_m, displacements then velocities, with all other coordinates held at rest.

    Attributes
    ----------
    A
        A_m = H14, 2n x 2n: ``dx_m/dt = A_m x_m + ...`` (Wagg 2001, eqs. 7 and 9).
    B
        B_e = [0, I]^T, 2n x n: what changes the velocities (eq. 11).

    Examples
    --------
    >>> from bondloop.papers import wagg_three_mass
    >>> from bondloop.substructure import numerical_half
    >>> half = numerical_half(wagg_three_mass.model().cut("m2.right >> m3.left")[0])
    >>> reference_model(half).A.tolist()  # -k2/m2, -c2/m2
    [[0.0, 1.0], [-1.0, -0.1]]
    """

    A: NDArray[np.float64]
    B: NDArray[np.float64]

    __repr__ = brief


def reference_model(half: NumericalHalf) -> ReferenceModel:
    """Return A_m and B_e of a numerical half, linearised where it starts.

    A_m depends on which coordinates the others are; as in the paper they are motions of masses. So a unit of
    interface velocity is a momentum of the interface's mass alone, and a unit of interface displacement
    stretches every spring by as much as that velocity does in a unit of time.

    Parameters
    ----------
    half
        Its interface velocities must be those of masses of their own, one each.
    """
    flows = {f"interface[{i}]": flow for i, flow in enumerate(half.flows)}
    space = half.system.replaced(outputs=flows).linearise().explicit()
    A, C = space.A, np.asarray(space.C.toarray())
    n, count = C.shape
    stretches = np.array(
        [v.quantity is not None and v.quantity.kind == "displacement" for v in half.system.state_vars]
    )
    if len(stretches) != count:  # what switches may leave out states in a mode
        raise ModelError("the reference model of a half whose states change with its mode is not known")
    V = np.zeros((count, n))  # column i: unit velocity at interface i
    for i, row in enumerate(C):
        (moved,) = np.nonzero(row)
        if len(moved) != 1 or stretches[moved[0]] or np.any(np.delete(C, i, axis=0)[:, moved[0]]):
            words = ", ".join(space.states[j] for j in moved[:4]) or "no state"
            raise ModelError(
                f"the velocity of interface {i + 1} depends on {words}: the reference model of Wagg 2001 is "
                "known where it is the velocity of one mass, its own"
            )
        V[moved[0], i] = 1 / row[moved[0]]
    rates = np.asarray(A @ V)
    X = np.where(stretches[:, None], rates, 0.0)  # column i: unit displacement at interface i
    identity, none = np.eye(n), np.zeros((n, n))
    A_m = np.block([[none, identity], [C @ (A @ X), C @ rates]])
    if not np.isfinite(A_m).all():
        raise ModelError(
            "the reference model has no numbers where the numerical half starts: a law has none there"
        )
    return ReferenceModel(A_m, np.vstack([none, identity]))


def indexed(word: str, count: int) -> list[str]:
    """Return the names of a quantity at several interfaces; without an index where there is only one.

    >>> indexed("force", 2), indexed("force", 1)
    (['force[0]', 'force[1]'], ['force'])
    """
    return [f"{word}[{i}]" for i in range(count)] if count > 1 else [word]
