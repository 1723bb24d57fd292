"""Energies of a test: what came in, what moves, what is strained, what was lost, and what is unaccounted for.

What is stored follows from the motion at an instant. What has come and gone is work, summed up tick by tick
in one of two ways: of a power that is known at every instant by Adams and Moulton's rule of fourth order; of
forces on displacements by ½ (f + f⁻) (u - u⁻), which closes exactly for constant average acceleration, the
scheme of the long steps of pseudo-dynamic tests (Filiatrault, Léger and Tinawi 1994).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bondloop.errors import InputError
from bondloop.program.expr import Const, Expr, Var, select
from bondloop.program.quantity import Quantity, Role
from bondloop.program.schedule import Assign
from bondloop.program.tick import Channel, Product, Step, Update, every
from bondloop.structures.reading import total

if TYPE_CHECKING:
    from bondloop.structures.matrices import Matrices

__all__ = ["ENERGIES", "WORDS", "Balance", "Moving", "asks_for_energy", "inserted", "recoverable"]

JOULE = "J"
ENERGIES = {
    "energy.input": Quantity("input energy", JOULE),
    "energy.kinetic": Quantity("kinetic energy", JOULE),
    "energy.strain": Quantity("strain energy", JOULE),
    "energy.damping": Quantity("damping energy", JOULE),
    "energy.specimen": Quantity("energy of the specimen", JOULE),
    "energy.devices": Quantity("energy of devices", JOULE),
    "energy.hysteretic": Quantity("hysteretic energy", JOULE),
    "energy.error": Quantity("energy error", JOULE),
}
"""Channels of a test's energies, with what they measure."""

WORDS = ("input", "kinetic", "strain", "damping", "specimen", "devices", "hysteretic", "error")
"""The same without what they begin with; the first six make up the balance."""


@dataclass(frozen=True)
class Moving:
    """A structure whose energy is counted.

    Parameters
    ----------
    name
        In the names of variables.
    matrices
        M, C and K.
    displacement, velocity
        Of its degrees of freedom.
    """

    name: str
    matrices: Matrices
    displacement: Sequence[Expr]
    velocity: Sequence[Expr]

    def product(self, part: str, steps: list[Step]) -> list[Var]:
        """Write M v, C v or K u, and return its entries."""
        source = self.displacement if part == "K" else self.velocity
        result = [Var(f"{self.name}energy.{part}[{i}]") for i in range(len(source))]
        steps.append(Product(tuple(result), getattr(self.matrices, part).toarray(), tuple(source)))
        return result

    def stored(self, part: str, steps: list[Step]) -> Expr:
        """Write v · M v / 2 or u · K u / 2."""
        source = self.displacement if part == "K" else self.velocity
        return 0.5 * total([x * y for x, y in zip(source, self.product(part, steps), strict=True)])


@dataclass
class Balance:
    """The energies of a numerical half.

    Parameters
    ----------
    prefix
        Before the names of its channels.
    count, period
        Variable of the number of the tick; seconds between ticks.
    structures
        What moves.
    by_work
        Whether damping is summed up by forces on displacements, not by power.
    powers
        By energy, ``"input"``, the power that it is the integral of.
    works
        By energy the forces with the displacements on which they work.
    recoverable
        What the devices in the computer, or the specimen where there are none, would give back if they were
        let go; None where that is not known.
    missing
        Why an energy is not known, by energy.

    Attributes
    ----------
    states
        What the statements keep from tick to tick, with initial values.
    values
        The energies that have been written.

    Examples
    --------
    >>> E = Balance("", Var("k"), 0.1, powers={"input": Var("P")})
    >>> E.names(["energy.input", "force"]), len(E.write(["energy.input"]))
    (['energy.input'], 3)
    """

    prefix: str
    count: Var
    period: float
    structures: Sequence[Moving] = ()
    by_work: bool = False
    powers: Mapping[str, Expr] = field(default_factory=dict)
    works: Mapping[str, Sequence[tuple[Expr, Expr]]] = field(default_factory=dict)
    recoverable: Expr | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    states: dict[Var, float] = field(default_factory=dict)
    values: dict[str, Expr] = field(default_factory=dict)

    def names(self, record: Iterable[str]) -> list[str]:
        """Return those of some names that are energies of this test, in the order of the table."""
        asked = set(record)
        return [f"{self.prefix}{n}" for n in ENERGIES if f"{self.prefix}{n}" in asked]

    def write(self, names: Sequence[str]) -> list[Step]:
        """Return the statements of some energies, with the prefix; they belong before the states go on."""
        steps: list[Step] = []
        wanted = [word for word in WORDS if f"{self.prefix}energy.{word}" in names]
        summed = [w for w in WORDS[:6] if w != "devices" or self._has_devices]
        needed = {"error": summed, "hysteretic": ("devices" if self._has_devices else "specimen",)}
        for word in dict.fromkeys(n for w in wanted for n in (*needed.get(w, ()), w)):
            why = self.missing.get(word)
            if why is not None:
                asked = word if word in wanted else "error"
                raise InputError(f"cannot record '{self.prefix}energy.{asked}': {why}")
            self.values[word] = self._one(word, steps)
        return steps

    @property
    def _has_devices(self) -> bool:
        return "devices" in self.powers

    def channels(self, names: Sequence[str]) -> list[Channel]:
        """Return the channels of energies that have been written."""
        return [
            Channel.of(name, self.values[word], ENERGIES[f"energy.{word}"], Role.OTHER)
            for word in self.values
            if (name := f"{self.prefix}energy.{word}") in names
        ]

    def _one(self, word: str, steps: list[Step]) -> Expr:
        target = Var(f"{self.prefix}energy.{word}", quantity=ENERGIES[f"energy.{word}"])
        if word in ("kinetic", "strain"):
            part = "M" if word == "kinetic" else "K"
            value = total([s.stored(part, steps) for s in self.structures])
        elif word == "error":
            value = self._unaccounted(steps)
        elif word == "hysteretic":
            assert self.recoverable is not None  # or it is missing
            value = self.values["devices" if self._has_devices else "specimen"] - self.recoverable
        elif word == "damping":
            lost = [(s, s.product("C", steps)) for s in self.structures]
            if self.by_work:
                pairs = [p for s, f in lost for p in zip(f, s.displacement, strict=True)]
                return self._work(target, pairs, steps)
            power = total([x * y for s, f in lost for x, y in zip(s.velocity, f, strict=True)])
            return self._integral(target, power, steps)
        elif word in self.powers:
            return self._integral(target, self.powers[word], steps)
        else:
            return self._work(target, self.works.get(word, ()), steps)
        steps.append(Assign(target, value))
        return target

    def _unaccounted(self, steps: list[Step]) -> Expr:
        """Return what came in, less what went, less what has been stored since the first tick."""
        v = self.values
        stored = Var(f"{self.prefix}energy.stored")
        first, kept = (Var(f"{self.prefix}energy.{word}") for word in ("first_stored", "kept_stored"))
        steps.append(Assign(stored, v["kinetic"] + v["strain"]))
        steps.append(Assign(first, select(self.count < 1, stored, kept)))
        steps.append(Update(((kept, first),)))
        self.states[kept] = 0.0
        rest = v["input"] - v["specimen"] - v["damping"] - (stored - first)
        return rest - v["devices"] if self._has_devices else rest

    def _integral(self, target: Var, power: Expr, steps: list[Step]) -> Expr:
        """Write E = E⁻ + h/24 (9 P + 19 P⁻ - 5 P⁻⁻ + P⁻⁻⁻); in the first ticks by trapezia."""
        h = self.period
        kept, now = Var(f"{target.name}.kept"), Var(f"{target.name}.power")
        old = [Var(f"{target.name}.power_before[{i}]") for i in range(3)]
        smooth = (h / 24) * (9 * now + 19 * old[0] - 5 * old[1] + old[2])
        first = select(self.count < 1, Const(0.0), (h / 2) * (now + old[0]))
        steps.append(Assign(now, power))
        steps.append(Assign(target, kept + select(self.count < 3, first, smooth)))
        steps.append(Update(((kept, target), (old[0], now), (old[1], old[0]), (old[2], old[1]))))
        self.states.update(dict.fromkeys((kept, *old), 0.0))
        return target

    def _work(self, target: Var, pairs: Sequence[tuple[Expr, Expr]], steps: list[Step]) -> Expr:
        """Write E = E⁻ + Σ ½ (f + f⁻) (u - u⁻)."""
        kept = Var(f"{target.name}.kept")
        parts: list[Expr] = [kept]
        keep: list[tuple[Var, Expr]] = [(kept, target)]
        for i, (force, displacement) in enumerate(pairs):
            f, u = (Var(f"{target.name}.{word}[{i}]") for word in ("force", "displacement"))
            f_old, u_old = (Var(f"{target.name}.{word}_before[{i}]") for word in ("force", "displacement"))
            steps += [Assign(f, force), Assign(u, displacement)]
            parts.append(0.5 * (f + f_old) * (u - u_old))
            keep += [(f_old, f), (u_old, u)]
        steps.append(Assign(target, select(self.count < 1, Const(0.0), total(parts))))
        steps.append(Update(tuple(keep)))
        self.states.update(dict.fromkeys((v for v, _ in keep), 0.0))
        return target


def recoverable(scheme: object, at: Sequence[int], force: Sequence[Var]) -> Expr | None:
    """Return f · k⁻¹ f / 2 with the specimen's elastic stiffness that a scheme knows; None where it does not.

    Parameters
    ----------
    scheme
        With ``specimen_stiffness`` over all degrees of freedom, or those of the interface alone.
    at
        Numbers of the interface's degrees of freedom.
    force
        Measured there.
    """
    stiffness = getattr(scheme, "specimen_stiffness", None)
    if stiffness is None:
        return None
    k = np.array(stiffness, dtype=float)
    k = k if len(k) == len(at) else k[np.ix_(at, at)]
    if not np.linalg.cond(k) < 1e12:
        return None
    soft = np.linalg.inv(k)
    return 0.5 * total(
        [float(soft[i, j]) * f * g for i, f in enumerate(force) for j, g in enumerate(force) if soft[i, j]]
    )


def asks_for_energy(name: str) -> bool:
    """Whether the name of what is recorded may stand for an energy."""
    return "*" in name or any(name.endswith(energy) for energy in ENERGIES)


def inserted(steps: Sequence[Step], more: Sequence[Step], states: Iterable[Var]) -> list[Step]:
    """Return statements with others before the first one that changes a state which these read.

    Parameters
    ----------
    steps
        Of a tick.
    more
        What reads states as they are at the beginning of the tick.
    states
        Those of the tick.
    """
    if not more:
        return list(steps)
    own = {v for s in every(more) for v in s.writes}
    read = {v for s in every(more) for v in s.reads} & set(states) - own
    for i, step in enumerate(steps):
        if any(v in read for inner in every([step]) for v in inner.writes):
            return [*steps[:i], *more, *steps[i:]]
    return [*steps, *more]
