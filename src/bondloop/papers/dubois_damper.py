"""Transfer dynamics cancellation of du Bois, Titurus and Lieven 2010, on an emulated rig.

A structure of two degrees of freedom is computed by its modal transfer functions; the orifice damper at its
second mass is physical, moved by a servo-hydraulic actuator whose dynamics are identified by stepped sines
and cancelled by the inverse of a process model, with polynomial prediction where the model has a delay.

The rig of the paper is confidential and its figures are not part of the text: actuator, damper and structure
have values of our own (docs/actuators.md, docs/papers/du-bois-2010.md). What is computed from them, the
process models above all, is identified each time, never typed in.

References
----------
Du Bois, J. L., Titurus, B., Lieven, N. A. J. (2010). Transfer dynamics cancellation in real-time dynamic
substructuring. Proceedings of ISMA 2010.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.papers.dubois_findings import numbers_of, programme, sentences, test
from bondloop.papers.dubois_identification import compensator
from bondloop.papers.dubois_rig import (
    CUT,
    FORCE_CLOSED,
    FRAME_MASS,
    LATENCY,
    MODELS,
    OUTLOOK,
    PLAY,
    POWER,
    PREDICTIONS,
    RATE,
    SECONDS,
    STANDARD,
    STRUCTURE,
    VALVE,
    Bench,
    FadingSine,
    base_force,
    coupled,
    emulated_rig,
    inverse,
    model,
    specimen,
)

if TYPE_CHECKING:
    from bondloop.rehearsal import Run

__all__ = [
    "CUT", "FORCE_CLOSED", "FRAME_MASS", "LATENCY", "MODELS", "OUTLOOK", "PLAY", "POWER", "PREDICTIONS",
    "RATE", "SECONDS", "STANDARD", "STRUCTURE", "VALVE", "Bench", "FadingSine", "base_force", "compensator",
    "coupled", "emulated_rig", "findings", "inverse", "model", "specimen", "test", "words",
]  # fmt: skip


def findings(run: Run) -> dict[str, float]:
    """Return the numbers of this run, and those of the paper's whole programme on the same rig."""
    return {**numbers_of(run), **programme()}


def words(run: Run) -> list[str]:
    """Return the paper's findings as they come out here, a sentence each, with their numbers."""
    return sentences(run)
