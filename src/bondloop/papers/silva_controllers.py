"""Controllers of the field's benchmark: one setting each, for all cases, plants and records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bondloop.papers.silva_plant import Plant

if TYPE_CHECKING:
    from bondloop.control import Controller

__all__ = ["CONTROLLERS"]

AHEAD = 1.5
"""Samples by which the motion must lead: the force comes one late, and is held. (The hold of the command is
identified with the plant.)"""


def _none() -> Controller:
    from bondloop.control import Direct

    return Direct()


def _sample() -> Controller:
    from bondloop.control import OuterLoop

    return OuterLoop(2.0, 95.0, lead=50.83163360273612 / 8570.397339444286, lag=1 / 8570.397339444286)


def _inverse() -> Controller:
    from bondloop.control import InverseModel

    return InverseModel(Plant().process())


def _time_series() -> Controller:
    from bondloop.control import AdaptiveTimeSeries

    return AdaptiveTimeSeries("25 ms", order=3, ahead=AHEAD)


def _model_based() -> Controller:
    from bondloop.control import AdaptiveModelBased

    return AdaptiveModelBased("25 ms", order=3, ahead=AHEAD)


CONTROLLERS: Mapping[str, Callable[[], Controller]] = {
    "none": _none, "sample": _sample, "inverse": _inverse, "ats": _time_series, "amb": _model_based,
}  # fmt: skip
"""Controllers by name, each with one setting for all cases."""
