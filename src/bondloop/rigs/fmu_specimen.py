"""A specimen that is an FMU: motion in, force out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import INTERFACE, Model, One, bond
from bondloop.bondgraph.elements import SS, Se
from bondloop.engine.ir import Const, Expr, Var
from bondloop.errors import InputError
from bondloop.fmu import ForeignStep, read_fmu

if TYPE_CHECKING:
    from bondloop.engine import System


class FmuSpecimen(Model):
    """The physical half of an emulated rig as an FMU for co-simulation (FMI 2.0 or 3.0).

    In every step of the rig the motion of the transfer system is given to the FMU and its force is read, at
    one instant; the force is held over the step, and the FMU takes one. What the load cell shows is the force
    of the rig's last step, too. So the rig should take small steps (``substeps``); the FMU takes the same.

    An FMU is a program: making this reads it, running the test runs it, with your rights. The check cannot
    linearise it, and rehearses instead.

    Parameters
    ----------
    path
        Of the FMU.
    force
        Its output for the force that moves the specimen, in N, as a load cell shows it; one for each
        interface.
    displacement, velocity
        Its inputs for the motion, in m and m/s; as many, or none of one of them.
    parameters
        Values of its parameters by name, set before the initialisation.

    Examples
    --------
    >>> FmuSpecimen("nowhere.fmu", force="F", displacement="x")
    Traceback (most recent call last):
    bondloop.errors.InputError: there is no FMU nowhere.fmu
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        force: str | Sequence[str],
        displacement: str | Sequence[str] = (),
        velocity: str | Sequence[str] = (),
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__("fmu_specimen")
        forces, displacements, velocities = map(_names, (force, displacement, velocity))
        self._count = count = len(forces)
        if not count or {len(displacements), len(velocities)} not in ({count}, {count, 0}):
            raise InputError(
                "FmuSpecimen: expected one force for each interface, and as many displacements, velocities "
                f"or both; found {count}, {len(displacements)} and {len(velocities)}"
            )
        fmu = read_fmu(path)
        inputs = [fmu.find(name, "input", "m") for name in displacements]
        inputs += [fmu.find(name, "input", "m/s") for name in velocities]
        outputs = [fmu.find(name, "output", "N") for name in forces]
        self._step = ForeignStep(fmu, inputs, outputs, parameters)
        self._places, self._speeds = bool(displacements), bool(velocities)
        ends = [SS(domain="translation") for _ in forces]
        self.motion = [One() for _ in forces]
        self.push = [Se(f"force[{i}]") for i in range(count)]
        setattr(self, INTERFACE, ends[0] if count == 1 else ends)
        for end, motion, push in zip(ends, self.motion, self.push, strict=True):
            bond(end, motion)
            bond(motion, push)

    @property
    def opaque(self) -> str:
        """What cannot be looked into: the FMU, by its file."""
        return f"the FMU {self._step.fmu.path.name}"

    def sources(self, system: System, prefix: str) -> list[Var]:
        """Return the inputs of a rig's equations that stand for the FMU's forces.

        Parameters
        ----------
        system
            The rig's equations.
        prefix
            Of the specimen's names.
        """
        by_name = dict(zip(system.inputs, system.input_vars, strict=True))
        return [by_name[f"{prefix}force[{i}]"] for i in range(self._count)]

    def driven(
        self,
        system: System,
        sources: Sequence[Var],
        displacements: Sequence[Expr],
        velocities: Sequence[Expr],
    ) -> System:
        """Return a rig's equations with the forces that the FMU gives at the beginning of each step.

        Parameters
        ----------
        system
            The rig's equations.
        sources
            The inputs that the forces take the place of.
        displacements, velocities
            Of the interfaces.
        """
        given = [*(displacements if self._places else ()), *(velocities if self._speeds else ())]
        number, clock = Var("rig.specimen.fmu.step"), Var("rig.specimen.fmu.time")
        states = dict(zip(system.state_vars, system.rate_exprs, strict=True))
        states |= {**dict.fromkeys(sources, Const(0.0)), number: Const(0.0), clock: Const(1.0)}
        values = self._step.calls(number, clock, given)
        return system.replaced(
            states=states,
            inputs=[u for u in system.input_vars if u not in sources],
            memories={**system.memories, **dict(zip(sources, values, strict=True)), number: number + 1.0},
            remarks=[*system.remarks, f"the specimen's force is computed by {self.opaque}"],
        )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
