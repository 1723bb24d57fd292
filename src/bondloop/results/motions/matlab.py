"""Ground motions from MATLAB files: a time and an acceleration by their names, or a table of the two."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import dataset_values, load_matlab, own_items, readable
from bondloop.errors import InputError
from bondloop.readers import ask, numbers_of
from bondloop.results.motions.ground_motion import GroundMotion
from bondloop.results.motions.units import UNSAID, even_period, factor_of, plausible, seconds_in

if TYPE_CHECKING:
    import h5py
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Place = tuple[str, ...]


TIME_NAMES = ("t", "time", "times")
PERIODS = ("dt", "ts", "sample_period", "sample_time")
RATES = ("fs", "rate", "sample_rate", "sampling_rate", "sampling_frequency")
ACCELERATIONS = (
    "a", "acc", "accel", "acceleration", "ground_acceleration", "ground", "ag", "ug", "xg", "ugdd", "xgdd",
    "ddug", "ddxg",
)  # fmt: skip
"""Names in small letters, whatever structure they stand in."""
UNITS = ("unit", "units")
"""Texts that name the unit of the acceleration."""

ASIDE = ("#refs#", "#subsystem#")
"""Where MATLAB keeps the contents of cells and objects, by names of its own."""


def read_matlab_motion(
    path: str | os.PathLike[str], unit: str | None = None, *, time_unit: str | None = None
) -> GroundMotion:
    """Read a ground motion from a MATLAB file (5 or 7.3).

    What is understood: a table of two columns (or two rows, as Simulink saves signals), time in s and
    acceleration; a vector called ``t`` or ``time`` and one called ``a``, ``acc``, ``acceleration``, ``ag``
    or the like, or the only other one of that length; or instead of the time a single number called ``dt``
    or ``fs``. They may stand in a structure.

    Parameters
    ----------
    path
        Of the file.
    unit
        Of the acceleration; ``"g"`` means gravity here, not gram. Unless given, the text called ``unit`` or
        ``units`` in the file, if there is one and it is of version 5; where nobody says it, it is refused.
    time_unit
        Of the times or the sample period; s unless given.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> file = Path(tempfile.mkdtemp()) / "kobe.mat"
    >>> savemat(file, {"dt": 0.02, "ag": [0.0, 1.5, -2.0]})
    >>> motion = read_matlab_motion(file, unit="m/s^2")
    >>> motion.sample_period, motion.peak
    (0.02, 2.0)
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {path}")
    found, said = _read(file)
    if unit is None and len(said) > 1:
        raise InputError(
            f"{path}: it names {len(said)} units, {', '.join(sorted(said))[:80]}; say which with unit="
        )
    time, values, title = _chosen(found, str(path))
    for what, numbers in (("time", np.atleast_1d(time)), ("acceleration", values)):
        if not np.isfinite(numbers).all():
            raise InputError(f"{path}: its {what} has values that are no finite numbers")
    period = even_period(time, str(path)) if isinstance(time, np.ndarray) else time
    period *= seconds_in(time_unit or "s")
    if unit is None and not said:
        raise InputError(
            f"{path}: the unit of the acceleration '{title}' is not known: "
            f"no text called 'unit' in it says it; {UNSAID}"
        )
    motion = GroundMotion(values * factor_of(unit or next(iter(said))), period, title)
    return plausible(motion, str(path), time_said=time_unit is not None)


def _read(path: Path) -> tuple[dict[Place, Array], set[str]]:
    """Return the numbers of a file, read by another process, and the texts that name units."""
    answer, body = ask("bondloop.results.motions.matlab:motion_parts", path, ["scipy.io", "h5py"])
    sizes = [math.prod(shape) for shape in answer["shapes"]]
    parts = np.split(numbers_of(body, sum(sizes), path), np.cumsum(sizes)[:-1]) if sizes else []
    arrays = [part.reshape(shape) for part, shape in zip(parts, answer["shapes"], strict=True)]
    return dict(zip(map(tuple, answer["places"]), arrays, strict=True)), set(answer["units"])


def motion_parts(path: Path) -> tuple[dict[str, object], list[Array]]:
    """Read a MATLAB file for another process: numbers by their places, and the texts that name units.

    Parameters
    ----------
    path
        Of the file.
    """
    content = load_matlab(path, simple=True)
    found = dict(_numbers(content)) if content is not None else _version_7_3(path)
    return {
        "units": sorted(set(_unit_texts(content or {}))),
        "places": list(found),
        "shapes": [values.shape for values in found.values()],
    }, list(found.values())


def _unit_texts(content: Mapping[str, object], depth: int = 8) -> Iterator[str]:
    """Yield what texts called unit or units say."""
    for name, value in content.items():
        if isinstance(value, dict) and depth:
            yield from _unit_texts(value, depth - 1)
        elif isinstance(value, str) and name.lower() in UNITS and value.strip():
            yield value.strip()


def _numbers(
    content: Mapping[str, object], within: Place = (), deepest: int = 8
) -> Iterator[tuple[Place, Array]]:
    """Yield all real numbers by name, after those of the structures in which they stand."""
    for name, value in content.items():
        if isinstance(value, dict):
            if len(within) < deepest:
                yield from _numbers(value, (*within, name), deepest)
        elif not isinstance(value, str):
            array = np.asarray(value)
            if array.dtype.kind in "fiu" and array.size:
                yield (*within, name), np.squeeze(array.astype(np.float64))


def _version_7_3(path: Path) -> dict[Place, Array]:
    import h5py

    if not h5py.is_hdf5(path):
        raise InputError(f"{path} is no MATLAB file")
    with readable(path, "MATLAB file"), h5py.File(path, "r") as file:
        return dict(_numbers(_datasets(file)))


def _datasets(group: h5py.Group, depth: int = 8) -> dict[str, object]:
    import h5py

    found: dict[str, object] = {}
    for name, item in own_items(group):
        if name in ASIDE:
            continue
        if isinstance(item, h5py.Group):
            found[name] = _datasets(item, depth - 1) if depth else {}
        elif item.attrs.get("MATLAB_class") != b"char" and item.dtype.kind in "fiu":
            found[name] = dataset_values(item)
    return found


def _chosen(found: Mapping[Place, Array], where: str) -> tuple[Array | float, Array, str]:
    """Return the time or the sample period, the acceleration, and what that is called."""
    vectors = {n: v for n, v in found.items() if v.ndim == 1 and v.size > 1}
    tables = {n: v for n, v in found.items() if v.ndim == 2 and 2 in v.shape and max(v.shape) > 2}
    times = _called(vectors, TIME_NAMES)
    single = {n: float(v) for n, v in found.items() if v.ndim == 0}
    periods = _called(single, PERIODS) | {n: 1 / v for n, v in _called(single, RATES).items() if v > 0}
    if len(times) == 1 or (not times and len(periods) == 1):
        name, time = next(iter((times or periods).items()))
        others = {n: v for n, v in vectors.items() if n != name and (not times or v.size == times[name].size)}
        accelerations = _called(others, ACCELERATIONS) or others
        if len(accelerations) == 1:
            word, values = next(iter(accelerations.items()))
            if not times and not 0 < float(time) < np.inf:
                raise InputError(
                    f"{where}: '{'.'.join(name)}' says {time:g} s between samples; expected more than 0"
                )
            return (time if times else float(time)), values, ".".join(word)
    elif not times and len(tables) == 1:
        name, table = next(iter(tables.items()))
        columns = table if table.shape[1] == 2 else table.T
        return columns[:, 0], columns[:, 1], ".".join(name)
    shapes = ", ".join(
        f"{'.'.join(n)} ({' by '.join(map(str, v.shape)) or 'a number'})" for n, v in found.items()
    )
    raise InputError(
        f"{where}: expected one time ('t' or 'time') or sample period ('dt') and one acceleration ('a', "
        f"'acc', 'ag' ...), or one table of the two columns; found {shapes[:300] or 'no numbers'}"
    )


def _called(values: Mapping[Place, Any], words: tuple[str, ...]) -> dict[Place, Any]:
    return {n: v for n, v in values.items() if n[-1].lower() in words}
