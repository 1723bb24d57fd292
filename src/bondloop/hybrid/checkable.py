"""What a test offers to its check, whatever kind of test it is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from bondloop.hybrid.rehearsable import Rehearsable

if TYPE_CHECKING:
    from bondloop.check import Check
    from bondloop.rigs import Sensor
    from bondloop.safety import Interlock, Limits


class Checkable(Rehearsable):
    """A test with a rig: it has interfaces that move, limits, sensors, and an excitation that can be scaled.

    Its tick has the channels ``desired.displacement``, ``actual.displacement``, ``desired.velocity``,
    ``actual.velocity`` and ``force`` of every interface, and the parameter ``excitation.scale``.
    """

    name: str
    limits: Limits | None
    interlock: Interlock | None = None
    feedback: bool = True

    @property
    def ground_cares(self) -> list[tuple[str, str]]:
        """What asks for care where the ground moves, each in a sentence and in some words."""
        return []

    @property
    @abstractmethod
    def interfaces(self) -> int:
        """How many degrees of freedom the two halves share."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """What the excitation is multiplied by."""

    @property
    @abstractmethod
    def sensors(self) -> Mapping[str, Sensor]:
        """The emulated sensors, by the channel that holds what they read."""

    @property
    def capacities(self) -> Mapping[str, float]:
        """What the machines can do, by channel, where that does not stop a run."""
        return {}

    @property
    def adapts(self) -> bool:
        """Whether the controller changes as it runs, so that how it starts is not how it stays."""
        return False

    @property
    def compensates(self) -> bool:
        """Whether a compensator works on its commands, sample by sample."""
        return False

    @property
    def hunts(self) -> bool:
        """Whether it has gains that are never at rest, products of what is measured."""
        return False

    def settled(self) -> Self:
        """Return the same test with the switches between the halves where their schedule leads, at once."""
        return self

    @abstractmethod
    def unlimited(self) -> Self:
        """Return the same test without any limits."""

    @abstractmethod
    def analysed(self, seconds: float, *, suggest: bool) -> Check:
        """Return the check of the test, which can be built, for a run of some seconds.

        Parameters
        ----------
        seconds
            How long the run is.
        suggest
            Whether to look for a change that makes a refused test pass.
        """

    def check(self, seconds: float | str | None = None) -> Check:
        """Whether this test may be run, with reasons.

        Parameters
        ----------
        seconds
            The length of the run it is meant for, or text, ``"2 min"``; the excitation's, or 10 s, where none
            is given.
        """
        from bondloop.check import check

        return check(self, seconds)
