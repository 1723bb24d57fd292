"""What is recorded of one system of a simulation beyond its outputs: variables, readings, energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bondloop.bondgraph import Model
from bondloop.errors import UnknownNameError
from bondloop.hybrid.channel_bounds import role_of
from bondloop.hybrid.comparison import power_of_sources
from bondloop.hybrid.energies import asks_for_energy
from bondloop.hybrid.half_energies import HalfEnergies
from bondloop.hybrid.structure_readings import EVERYTHING, chosen, read_off, readings_in
from bondloop.program.expr import Expr, Var, substitute
from bondloop.program.paths import within
from bondloop.program.tick import Channel, Step

if TYPE_CHECKING:
    from bondloop.program.quantity import Quantity
    from bondloop.program.system import System

__all__ = ["Asked", "model_of"]


def model_of(system: System) -> Model | None:
    """Return the model that a system was compiled from; None where it was not."""
    origin = vars(system).get("_origin")
    model = None if origin is None else origin.arguments.get("of")
    return model if isinstance(model, Model) else None


class Asked:
    """What is to be recorded of one system.

    Parameters
    ----------
    key
        Its name in the simulation, with which the names of its variables begin.
    system
        Its equations.
    model
        What it was compiled from, if that is known.
    record
        What is asked for, of all systems.
    wheres
        Directions or supports in which the ground moves.
    """

    def __init__(
        self, key: str, system: System, model: Model | None, record: Sequence[str], wheres: Sequence[str]
    ) -> None:
        prefix = f"{key}."
        self.prefix, self.system = prefix, system
        self.names = [n for n in record if within(n, key) or n.startswith(EVERYTHING)]
        structures = readings_in(model, prefix, system, wheres)
        self.energies: HalfEnergies | None = None
        if model is not None and any(asks_for_energy(n) for n in self.names):
            supplied = power_of_sources(model, system, prefix)
            self.energies = HalfEnergies(model, structures, prefix, supplied, [], system)
        known = [] if self.energies is None else self.energies.names(prefix)
        paths = chosen(self.names, structures, known)
        self._summed = [n for n in paths if n.startswith(f"{prefix}energy.") and self.energies is not None]
        self._values: dict[str, tuple[Expr, Quantity | None]] = {}
        for path in paths:
            if path in self._summed:
                continue
            try:
                self._values[path] = system.expression(path), system.quantity(path)
            except UnknownNameError as error:
                self._values[path] = read_off(path, structures, error)

    @property
    def goals(self) -> list[Expr]:
        """What has to be known of the equations."""
        more = self.energies.goals if self.energies is not None and self._summed else []
        return [*(e for e, _ in self._values.values()), *more]

    def written(
        self, table: Mapping[Var, Expr], count: Var, period: float
    ) -> tuple[list[Step], dict[Var, float], list[Channel]]:
        """Return statements that belong before the states go on, their states, and the channels.

        Parameters
        ----------
        table
            What the variables of the equations are in the tick.
        count, period
            Number of the tick, and seconds between ticks.
        """
        values = dict(table)
        channels = [
            Channel.of(n, substitute(e, values), q, role_of(self.system, e))
            for n, (e, q) in self._values.items()
        ]
        if self.energies is None or not self._summed:
            return [], {}, channels
        balance = self.energies.balance(self.prefix, count, period, lambda e: substitute(e, values))
        steps = balance.write(self._summed)
        return steps, balance.states, [*channels, *balance.channels(self._summed)]
