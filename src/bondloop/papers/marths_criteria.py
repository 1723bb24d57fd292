"""The criteria of the multi-axial benchmark, by name.

J7 to J10 compare with a reference that the parts do not add up to, so no compensator brings them below a
floor of 6 to 10 %. Their twins that end in ``_emulated`` compare with the structure that the parts do make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.papers.marths_benchmark import FLOORS, PINS
from bondloop.papers.marths_structure import FRAME, emulated
from bondloop.papers.silva_criteria import lag, peak_share, rms_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.hybrid import Run

    Array = NDArray[np.float64]

__all__ = ["NUMBERS", "criteria", "pose"]

FLOOR_WORDS = ("floor_2", "floor_2_rotation", "floor_3", "floor_3_rotation")

NUMBERS = {
    **{f"delay_{i}_ms": "J1" for i in (1, 2)},
    **{f"tracking_{i}_rms_percent": "J2" for i in (1, 2)},
    **{f"tracking_{i}_peak_percent": "J3" for i in (1, 2)},
    **{f"frame_{word}_rms_percent": "J5" for word in ("motion", "rotation")},
    **{f"frame_{word}_peak_percent": "J6" for word in ("motion", "rotation")},
    **{f"joint_{word}_rms_percent": "J7" for word in ("motion", "rotation")},
    **{f"{word}_rms_percent": "J8" for word in FLOOR_WORDS},
    **{f"joint_{word}_peak_percent": "J9" for word in ("motion", "rotation")},
    **{f"{word}_peak_percent": "J10" for word in FLOOR_WORDS},
}
"""The paper's number of each criterion. (J4 is J1 again in the public code.)"""


def pose(strokes: Array) -> Array:
    """Return motion and rotation of the joint from the strokes of both actuators, shape (2, samples).

    Two pins above each other: the strokes differ by twice the height times the sine of the rotation.

    Examples
    --------
    >>> pose(np.array([[0.001], [0.001]])).round(6).tolist()
    [[0.001], [0.0]]
    """
    (arm, height), _ = PINS
    turn = np.arcsin((strokes[1] - strokes[0]) / (2 * height))
    return np.array([strokes.mean(axis=0) - arm * (np.cos(turn) - 1), turn])


def criteria(run: Run) -> dict[str, float]:
    """Return the criteria of a run of the benchmark.

    Parameters
    ----------
    run
        Of ``marths_benchmark.test(...)``.
    """
    period = run.record.sample_period
    joint = (FRAME[0], FRAME[2])
    target = [run[f"desired.displacement[{i}]"] for i in range(2)]
    numerical = {i: run[f"numerical.stiffness[{i}].displacement"] for i in (*joint, *FLOORS)}
    whole = {i: run[f"reference.stiffness[{i}].displacement"] for i in (*joint, *FLOORS)}
    made = emulated(run["ground"], period)
    result: dict[str, float] = {}
    for suffix, word in (("", "measured"), ("_without_noise", "actual")):
        strokes = np.array([run[f"{word}.displacement[{i}]"] for i in range(2)])
        frame = pose(strokes)
        values: dict[str, float] = {}
        for i, (moved, wanted) in enumerate(zip(strokes, target, strict=True), start=1):
            values[f"delay_{i}_ms"] = 1e3 * lag(moved, wanted, period)
            values[f"tracking_{i}_rms_percent"] = rms_share(moved, wanted)
            values[f"tracking_{i}_peak_percent"] = peak_share(moved, wanted)
        for name, moved, i in zip(("motion", "rotation"), frame, joint, strict=True):
            values[f"frame_{name}_rms_percent"] = rms_share(moved, numerical[i])
            values[f"frame_{name}_peak_percent"] = peak_share(moved, numerical[i])
            values[f"joint_{name}_rms_percent"] = rms_share(moved, whole[i])
            values[f"joint_{name}_peak_percent"] = peak_share(moved, whole[i])
            values[f"joint_{name}_rms_percent_emulated"] = rms_share(moved, made[:, i])
        result |= {f"{name}{suffix}": value for name, value in values.items()}
    for name, i in zip(FLOOR_WORDS, FLOORS, strict=True):
        result[f"{name}_rms_percent"] = rms_share(numerical[i], whole[i])
        result[f"{name}_peak_percent"] = peak_share(numerical[i], whole[i])
        result[f"{name}_rms_percent_emulated"] = rms_share(numerical[i], made[:, i])
    return result
