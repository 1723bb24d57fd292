"""A test whose measured force is carried on over the step: by how much it comes late is read off its tick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.check import RunningLoop, coupled
from bondloop.errors import BondloopError
from bondloop.hybrid import Extrapolation
from bondloop.rigs import indexed
from bondloop.tuning.task import PLAIN

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


POINTS = 4
"""Samples that the force's line is fitted to: as calm as the force that is held, or nearly."""

MOST = 20.0
"""Samples beyond which nothing is carried on."""


def late_samples(test: HybridTest, frequency: float) -> float:
    """Return by how many samples the measured force comes later than the force itself, the worst of all.

    Parameters
    ----------
    test
        The test.
    frequency
        In Hz, at which phases are compared.
    """
    loop = RunningLoop(coupled(test).replaced(controller=PLAIN, feedback=False))
    true = indexed("force", loop.count)
    step = loop.at(more=true)
    response = step.response(np.array([frequency]))[0]
    latest = 0.0
    for measured, force, command in zip(loop.forces, true, loop.commands, strict=True):
        column = response[:, step.probes.index(command)]
        whole, part = column[step.outputs.index(force)], column[step.outputs.index(measured)]
        # A force that a small motion does not make, within a play, tells nothing.
        if abs(whole) > 0 and 0.5 < abs(part / whole) < 2:
            latest = max(latest, float(-np.angle(part / whole) / (2 * np.pi * frequency * test.period)))
    return float(round(latest, 3))


def carried_on(test: HybridTest, frequency: float) -> HybridTest | None:
    """Return the test with its measured force carried on; None where it has its own way, or cannot.

    Parameters
    ----------
    test
        The test.
    frequency
        In Hz, of the motion.
    """
    if test.extrapolation is not None or not test.feedback:
        return None
    try:
        late = late_samples(test, frequency)
        if late > MOST:
            return None
        carried = test.replaced(extrapolation=Extrapolation(late=late, points=POINTS))
        _ = carried.replaced(controller=PLAIN).tick
    except BondloopError:
        return None
    return carried
