"""Which mode holds at a point of a system that switches, where nothing has moved yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.program.switching_rules import StopRule

if TYPE_CHECKING:
    from bondloop.program.settling import Settling

__all__ = ["constant", "mode_at"]


def constant(value: float, _: float) -> float:
    """Return a value, whatever the time."""
    return value


def mode_at(run: Settling, x: list[float]) -> list[float]:
    """Return states in the mode that holds at a point, whatever mode they came with.

    A simulation learns by a motion that a stop is met. At a point without a motion it is met where its gap is
    used up and something presses on it; short of the gap it is free.
    """
    x = list(x)
    run.learn(0.0, x)
    stops = [i for i, rule in enumerate(run.rules.rules) if isinstance(rule, StopRule)]
    terms = run.ports(0.0, x)[2]
    for i in stops:
        if x[run.modes.places[i]] == 0 and terms[i][0] < terms[i][1] - run.slacks[i][2]:
            x[run.modes.places[i]] = 1.0
    x = run.settle(0.0, x).x
    for _ in stops:
        pressed = next((after for i in stops if (after := _closed(run, x, i)) is not None), None)
        if pressed is None:
            break
        x = run.settle(0.0, pressed).x
    return x


def _closed(run: Settling, x: list[float], i: int) -> list[float] | None:
    """Return the states with one more stop closed, if it is free, met, and pressed once it is closed."""
    place = run.modes.places[i]
    if x[place] == 0:
        return None
    _, flows, terms = run.ports(0.0, x)
    _, flow_slack, slack = run.slacks[i]
    if terms[i][0] < terms[i][1] - slack or abs(flows[i]) > flow_slack:
        return None
    modes = list(run.modes.of(x))
    modes[i] = 0.0
    if not run.exists(modes):
        return None
    after = run.entered(0.0, x, tuple(modes))
    run.learn(0.0, after)
    return after if run.ports(0.0, after)[0][i] > run.slacks[i][0] else None
