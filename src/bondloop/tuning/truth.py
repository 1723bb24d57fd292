"""The motion that a test is meant to have: that of the complete structure, computed once in fine steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis.spectrum import within
from bondloop.engine.ir import Var
from bondloop.errors import BondloopError
from bondloop.hybrid import Simulation
from bondloop.rigs import indexed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.hybrid import HybridTest


FINER = (8, 16, 32, 64)
"""Steps of the complete structure for each sample that are tried until two of them agree: a specimen may be
too stiff for the steps of the computer."""

AGREE = 1e-3
"""Relative difference (rms) of two that agree."""


def true_velocities(test: HybridTest, seconds: float) -> dict[str, NDArray[np.float64]]:
    """Return the interfaces' velocities in the structure from which a test's halves were cut.

    By the name of the channel that should equal it; empty where the structure is not known, or cannot be
    computed in one piece.

    Parameters
    ----------
    test
        The test.
    seconds
        Length of the run.
    """
    whole = test.structure
    if whole is test.numerical:
        return {}
    names = indexed("desired.velocity", len(test.half.flows))
    paths = {
        name: flow.name.removeprefix("numerical.")
        for name, flow in zip(names, test.half.flows, strict=True)
        if isinstance(flow, Var)
    }
    if len(paths) < len(names):
        return {}
    try:
        coarse: NDArray[np.float64] | None = None
        for finer in FINER:
            fine = _simulated(test, whole, list(paths.values()), seconds, finer)
            if fine is None:
                continue
            if coarse is not None and _difference(coarse, fine) < AGREE:
                return dict(zip(paths, fine, strict=True))
            coarse = fine
    except BondloopError:
        return {}
    return {}


def _simulated(
    test: HybridTest, whole: Model, paths: list[str], seconds: float, finer: int
) -> NDArray[np.float64] | None:
    """Return variables of the complete structure at the test's samples; None where it diverges."""
    system = whole.compile(paths)
    # Values that were changed in the halves are those of the structure too.
    values = {}
    for path, value in test.overrides.items():
        for half in ("numerical", "rig.specimen"):
            if within(path, half) and path.removeprefix(f"{half}.") in system.parameters:
                values[f"whole.{path.removeprefix(f'{half}.')}"] = value
    excitation = {n: test.scale * s for n, s in test.excitation.items()}
    simulation = Simulation(
        {"whole": system}, excitation=excitation, rate=finer * test.rate, values=values, name=test.name
    )
    run = simulation.run(seconds, every=finer)
    return np.array([run.record[f"whole.{path}"] for path in paths]) if run.completed else None


def _difference(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    size = float(np.sqrt(np.mean(other**2)))
    return float(np.sqrt(np.mean((one - other) ** 2))) / size if size > 0 else 0.0
