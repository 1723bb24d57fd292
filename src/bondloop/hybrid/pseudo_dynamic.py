"""Pseudo-dynamic tests: matrices in the computer, a scheme that asks in sub-steps, a specimen on a rig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError, unknown_name
from bondloop.hybrid.complete import assembled
from bondloop.hybrid.pseudo_dynamic_tick import PseudoDynamicTick
from bondloop.hybrid.rehearsable import Rehearsable
from bondloop.hybrid.stability import Stability
from bondloop.integrate.substep import SubStep
from bondloop.program.one_step import one_step
from bondloop.program.ranges import POSITIVE, checked_values, number
from bondloop.structures.matrices import Matrices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.integrate.structural.base import Scheme
    from bondloop.program.tick import Tick
    from bondloop.rigs.sub_stepped import SubSteppedRig
    from bondloop.safety import Limits

__all__ = ["PseudoDynamicTest"]


class PseudoDynamicTest(Rehearsable):
    """A pseudo-dynamic test with a sub-structure on a rig, in real time or slower.

    Parameters
    ----------
    numerical
        M, C, K of the numerical half; the inertia of a slow test is here.
    scheme
        `SubStep`, or any of `bondloop.integrate.structural` (these command displacements).
    rig
        The specimen on a `ShakingTable` (commanded by accelerations) or on `RampHold` actuators
        (displacements).
    interface
        Degrees of freedom at which the rig is joined, one per interface of the specimen.
    excitation
        Signals by name. One named after a degree of freedom is a force on it; any other is given with its
        pattern, ``{"ground": (signal, {"m1": 65467.0})}``: forces per unit of the signal. An empty pattern:
        only recorded.
    time_step
        Δt of the scheme in seconds.
    time_scale
        How many times slower than life the rig moves (displacement control only): 10 for a test in which a
        second of the structure takes ten. Rate effects of the specimen shrink with it, as they do in the
        laboratory.
    reference
        Run the complete structure beside the test for its exact coupling force: True to assemble it from the
        specimen's matrices, or its matrices.
    limits
        Beyond them the run stops, as beyond the rig's own.
    values
        Parameter values by path: ``{"scheme.P": -1}``, ``{"rig.overshoot": 0.1}``.
    name
        Name of the test.

    Examples
    --------
    >>> from bondloop.rigs import ShakingTable, Specimen
    >>> from bondloop.program.signals import HalfSine
    >>> main = Matrices([[20.0]], [[30.0]], [[8e4]], ("floor",))
    >>> damper = Matrices([[0, 0], [0, 1.0]], None, [[4e3, -4e3], [-4e3, 4e3]], ("base", "damper"))
    >>> test = PseudoDynamicTest(
    ...     main,
    ...     scheme=SubStep(5),
    ...     rig=ShakingTable(Specimen.from_matrices(damper, "base")),
    ...     interface="floor",
    ...     excitation={"floor": HalfSine(100, width=0.02)},
    ...     time_step=0.002,
    ...     reference=True,
    ... )
    >>> run = test.run(1.0)
    >>> error = run["force"] - run["reference.force"]
    >>> print(
    ...     test.check().stable, f"{100 * np.sqrt(np.mean(error**2)) / np.std(run['reference.force']):.1f} %"
    ... )
    True 3.1 %
    """

    def __init__(  # noqa: PLR0913 - each is one part of the definition above
        self,
        numerical: Matrices,
        *,
        scheme: SubStep | Scheme,
        rig: SubSteppedRig,
        interface: str | Sequence[str],
        excitation: Mapping[str, Any],
        time_step: float,
        time_scale: float = 1.0,
        reference: bool | Matrices = False,
        limits: Limits | None = None,
        values: Mapping[str, float] | None = None,
        name: str = "pseudo_dynamic_test",
    ) -> None:
        self.numerical, self.scheme, self.rig = numerical, scheme, rig
        self.interface = (interface,) if isinstance(interface, str) else tuple(interface)
        self.period = POSITIVE.check(time_step, "time_step")
        self.time_scale = POSITIVE.check(time_scale, "time_scale")
        self.limits, self.name = limits, name
        self.overrides = {path: number(value, path) for path, value in (values or {}).items()}
        self.reference = reference
        self._check()
        self.excitation = {n: self._load(n, given) for n, given in excitation.items()}
        self.complete = self._complete()
        checked_values(self._writer.all_parameters, self.overrides, "the test")

    def _check(self) -> None:
        numerical_dofs, count = self.numerical.indices(self.interface), len(self.rig.specimen.motions)
        if len(set(numerical_dofs)) != count:
            raise InputError(
                f"the specimen has {count} interface(s), but the test names {len(set(numerical_dofs))}: "
                f"{', '.join(self.interface)}"
            )
        wanted = self.scheme.control if isinstance(self.scheme, SubStep) else "displacement"
        if self.rig.control != wanted:
            raise InputError(
                f"{type(self.scheme).__name__} commands {wanted}s, but a {type(self.rig).__name__} takes "
                f"{self.rig.control}s; take a rig that suits, or SubStep(control={self.rig.control!r})"
            )
        if self.time_scale != 1 and self.rig.control == "acceleration":
            raise InputError(
                f"time_scale = {self.time_scale:g}: a table loads the specimen through its own inertia, "
                "which does not slow down with the test; use displacement control, or time_scale = 1"
            )

    def _load(self, name: str, given: Any) -> tuple[Any, NDArray[np.float64]]:
        from bondloop.hybrid.test import _signal

        signal, where = given if isinstance(given, tuple) else (given, {name: 1.0})
        if not isinstance(given, tuple) and name not in self.numerical.dofs:
            raise InputError(
                unknown_name("degree of freedom", name, self.numerical.dofs)
                + "; a load by another name is given with its pattern, (signal, {dof: force})"
            )
        pattern = np.zeros(len(self.numerical))
        for dof, value in where.items():
            pattern[self.numerical.index(dof)] = float(value)
        return _signal(name, signal), pattern

    def _complete(self) -> Matrices | None:
        if isinstance(self.reference, Matrices):
            return self.reference
        return assembled(self.numerical, self.rig.specimen, self.interface) if self.reference else None

    # ---------------------------------------------------------------- values

    @property
    def parameters(self) -> dict[str, float | None]:
        """All parameters by path, with the values in force."""
        return {v.name: self.overrides.get(v.name, x) for v, x in self._writer.all_parameters.items()}

    def with_values(self, values: Mapping[str, float]) -> PseudoDynamicTest:
        """Return the same test with some parameters changed, by path."""
        return self._again(values={**self.overrides, **values})

    def _again(self, **changed: Any) -> PseudoDynamicTest:
        excitation = {
            n: (s, dict(zip(self.numerical.dofs, p.tolist(), strict=True)))
            for n, (s, p) in self.excitation.items()
        }
        parts: dict[str, Any] = {
            "scheme": self.scheme, "rig": self.rig, "interface": self.interface, "excitation": excitation,
            "time_step": self.period, "time_scale": self.time_scale, "reference": self.reference,
            "limits": self.limits, "values": self.overrides, "name": self.name,
        }  # fmt: skip
        return PseudoDynamicTest(self.numerical, **{**parts, **changed})

    # ---------------------------------------------------------------- readings

    @cached_property
    def _writer(self) -> PseudoDynamicTick:
        return PseudoDynamicTick(self)

    @property
    def tick(self) -> Tick:
        """One step of the test: what is rehearsed is what runs."""
        return self._writer.tick

    @property
    def tables(self) -> dict[str, Any]:
        """Signals that are read from tables, by name."""
        return {name: s for name, (s, _, _) in self._writer.signals.tables.items()}

    @property
    def seed(self) -> int:
        """Seed of the rig's noise."""
        return self.rig.seed

    @property
    def remedies(self) -> dict[str, str]:
        """What to do when a channel passes its limit."""
        return self._writer.remedies

    def check(self) -> Stability:
        """Whether the test is stable: the eigenvalues of one step of the tick that would run."""
        return Stability(one_step(self.tick))

    def describe(self) -> dict[str, Any]:
        """Describe the test for run files."""
        return {
            "name": self.name,
            "rate": 1 / self.period,
            "time_step": self.period,
            "time_scale": self.time_scale,
            "scheme": self.scheme.describe(),
            "rig": self.rig.describe(),
            "interface": list(self.interface),
            "numerical": {
                "dofs": list(self.numerical.dofs),
                **{
                    n: getattr(self.numerical, n).toarray().tolist()
                    for n in ("M", "C", "K")
                    if len(self.numerical) < 50
                },
            },
            "excitation": {
                k: {
                    **s.describe(),
                    "pattern": {d: x for d, x in zip(self.numerical.dofs, p.tolist(), strict=True) if x},
                }
                for k, (s, p) in self.excitation.items()
            },
            "limits": None if self.limits is None else self.limits.describe(),
            "parameters": self.parameters,
        }
