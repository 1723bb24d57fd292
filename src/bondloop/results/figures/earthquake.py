"""Figures of earthquake tests: ground motions, drifts, hysteresis, energies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import InputError
from bondloop.results.figures.histories import finish_stack
from bondloop.results.figures.layout import (
    ACTUAL,
    COLOURS,
    DESIRED,
    GREY,
    INK,
    STYLE,
    drawable,
    dress,
    envelope,
    finish,
    heading,
    labelled,
    legend,
    note,
    page,
    quantity_of,
    round_steps,
    scaled,
    trajectory,
)
from bondloop.results.motions.ground_motion import ResponseSpectrum, checked_periods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.results.motions.ground_motion import GroundMotion
    from bondloop.results.records.record import Record


Path = str | os.PathLike[str]

STACKED = {
    "damping energy": COLOURS[0],
    "energy of the specimen": COLOURS[1],
    "energy of devices": COLOURS[3],
    "strain energy": COLOURS[2],
    "kinetic energy": COLOURS[5],
}
"""Energies that add up to the input, from below, by what they are; with their colours."""


def drift_profile(record: Record, *, path: Path | None = None) -> Figure:
    """Draw the largest drift of every storey, to either side; those over storey height where recorded.

    Parameters
    ----------
    record
        With ``storey[1].drift_x``, or ``storey[1].drift_ratio_x``, and those of the other storeys.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.engine.ir.quantity import Meaning
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> names = ["storey[1].drift_x", "storey[2].drift_x"]
    >>> record = Record(
    ...     t,
    ...     {n: 0.01 * np.sin(9 * t) for n in names},
    ...     dict.fromkeys(names, "m"),
    ...     meanings=dict.fromkeys(names, Meaning(quantity="storey drift in x")),
    ... )
    >>> drift_profile(record).axes[0].get_xlabel()
    'storey drift in x [mm]'
    """
    groups: dict[str, list[str]] = {}
    for name, meaning in record.meanings.items():
        if "storey drift" in meaning.quantity:
            groups.setdefault(meaning.quantity, []).append(name)
    ratios = {what: names for what, names in groups.items() if "storey drift ratio" in what}
    groups = ratios or groups
    if not groups:
        raise InputError(
            "this run has no storey drifts; name nodes with structure.storeys(...) and record "
            "'numerical.storey[*].drift_ratio_x', with the structure's path before it"
        )
    most = max(map(len, groups.values()))
    figure = page(1.2 + 0.35 * min(max(most, 4), 30), min(STYLE.width, 3.5 * len(groups)))
    for k, (what, names) in enumerate(groups.items()):
        axes = figure.add_subplot(1, len(groups), k + 1)
        signals = [drawable(record[name]) for name in names]
        factor, unit = (100.0, "%") if what in ratios else scaled(record.units[names[0]], signals)
        storeys = np.arange(1, len(names) + 1)
        low, high = (np.array([f(x, initial=0.0) * factor for x in signals]) for f in (np.min, np.max))
        for values, word, colour in ((high, "greatest", COLOURS[1]), (low, "least", COLOURS[0])):
            axes.plot(values, storeys, marker="o", markersize=4, linewidth=1.1, color=colour, label=word)
        axes.axvline(0.0, color=GREY, linewidth=0.7)
        dress(axes, labelled(what, unit), "storey" if k == 0 else "")
        axes.set_yticks(storeys[:: max(1, len(storeys) // 12)])
        axes.set_ylim(0.5, len(names) + 0.5)
        legend(axes)
    return finish(figure, path)


def hysteresis(
    record: Record,
    pairs: Mapping[str, tuple[str, str]] | None = None,
    *,
    path: Path | None = None,
) -> Figure:
    """Draw forces over displacements, with the energy taken until the end: what is stored then is in it.

    Parameters
    ----------
    record
        The run.
    pairs
        By title the channels of a displacement and a force; by default those of every transfer system.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 2 * np.pi, 401)
    >>> record = Record(t, {"x": np.sin(t), "f": np.cos(t)}, {"x": "m", "f": "N"})
    >>> hysteresis(record, {"ellipse": ("x", "f")}).axes[0].texts[0].get_text()
    'work done on it: 3.14 J'
    """
    from bondloop.engine.ir import Role

    if pairs is None:
        names = record.channels_of(Role.ACTUAL, kind="displacement")
        found = {n: record.at_interface(n, Role.ACTUAL, "effort") for n in names}
        titles = (
            [f"transfer system {i + 1}" for i in range(len(found))] if len(found) > 1 else ["transfer system"]
        )
        pairs = {title: (x, f) for title, (x, f) in zip(titles, found.items(), strict=False) if f}
    if not pairs:
        raise InputError("no displacement with a force to draw; name them, {'brace': (displacement, force)}")
    across = min(3, len(pairs))
    rows = -(-len(pairs) // across)
    figure = page(3.2 * rows, {1: 3.8, 2: 6.4}.get(across, STYLE.width))
    for k, (title, (moved, force)) in enumerate(pairs.items()):
        axes = figure.add_subplot(rows, across, k + 1)
        draw_loops(axes, record, moved, force)
        heading(axes, title, lines_below=1)
    return finish(figure, path)


def draw_loops(axes: Axes, record: Record, moved: str, force: str) -> None:
    """Draw a force over a displacement into axes, with the energy taken above.

    Parameters
    ----------
    axes
        Where.
    record
        The run.
    moved, force
        Channels of the displacement and the force.
    """
    from bondloop.results.assess.error_metrics import work

    x, f = drawable(record[moved]), drawable(record[force])
    (by_x, unit_x), (by_f, unit_f) = scaled(record.units[moved], [x]), scaled(record.units[force], [f])
    axes.plot(*trajectory(x * by_x, f * by_f), color=COLOURS[0], linewidth=0.9)
    motion = quantity_of(record.units[moved]) or "displacement"
    dress(axes, labelled(motion, unit_x), labelled(quantity_of(record.units[force]) or "force", unit_f))
    axes.xaxis.set_major_locator(round_steps(5))
    taken = np.array([work(f, x)[-1] if len(x) else 0.0])
    size, unit = scaled("J", [taken])
    note(axes, f"work done on it: {taken[0] * size:.3g} {unit}")


FELT = "specimen, as felt"
"""The measured force on the desired motion: where the rig lags, less than the specimen takes."""


def energies(record: Record, *, path: Path | None = None) -> Figure:
    """Draw where the energy went: what was stored and lost, piled up, under what came in; below, the error.

    Parameters
    ----------
    record
        With ``energy.input`` and at least one of the others; ``record="energy.*"`` has them all.
    path
        Where to save.

    Examples
    --------
    >>> from bondloop.engine.ir.quantity import Meaning
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> words = {"energy.input": "input energy", "energy.strain": "strain energy"}
    >>> record = Record(
    ...     t,
    ...     dict.fromkeys(words, t),
    ...     dict.fromkeys(words, "J"),
    ...     meanings={n: Meaning(quantity=q) for n, q in words.items()},
    ... )
    >>> len(energies(record).axes)
    1
    """
    by_what: dict[str, NDArray[np.float64]] = {}
    for name, meaning in record.meanings.items():
        if meaning.quantity in (*STACKED, "input energy", "energy error") and meaning.quantity not in by_what:
            by_what[meaning.quantity] = drawable(record[name])
    if not any(what in by_what for what in STACKED):
        raise InputError("this run has no energies; record 'energy.*'")
    parts = [what for what in STACKED if what in by_what and np.any(by_what[what])]
    error = by_what.get("energy error")
    figure = page(3.0 if error is None else 4.2)
    stack: Any = figure.subplots(
        1 if error is None else 2, 1, sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": [1] if error is None else [3, 1]},
    )[:, 0]  # fmt: skip
    axes = stack[0]
    factor, unit = scaled("J", [np.sum([by_what[w] for w in parts], axis=0)])
    every = max(1, len(record) // 2000)
    time = record.time[::every]
    piled = [by_what[w][::every] * factor for w in parts]
    labels = [FELT if w == "energy of the specimen" else w.removesuffix(" energy") for w in parts]
    axes.stackplot(time, *piled, labels=labels, colors=[STACKED[w] for w in parts], alpha=0.75, linewidth=0)
    if "input energy" in by_what:
        axes.plot(time, by_what["input energy"][::every] * factor, color=INK, linewidth=1.2, label="input")
    dress(axes, "", labelled("energy", unit))
    legend(axes)
    if error is not None:
        size, shown = scaled("J", [error])
        stack[1].plot(*envelope(record.time, error * size), color=COLOURS[3], linewidth=0.9)
        dress(stack[1], "", labelled("error", shown), ticks=3)
    if len(record) > 1:
        axes.set_xlim(float(record.time[0]), float(record.time[-1]))
    return finish_stack(figure, list(stack), record, path)


SHADE = "#dbe4ee"


def ground_motion(
    motion: GroundMotion,
    *,
    periods: ArrayLike | None = None,
    damping: float = 0.05,
    target: ResponseSpectrum | Mapping[float, float] | Mapping[float | str, float | str] | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw a ground motion.

    The shaded part is the significant duration, in which the Arias intensity grows from 5 to 95 %.

    Parameters
    ----------
    motion
        As it is, corrected and scaled.
    periods, damping
        Of its response spectrum.
    target
        A spectrum to draw beside it: a response spectrum, or pseudo-accelerations [m/s²] by period [s].
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import GroundMotion
    >>> t = np.arange(1000) * 0.01
    >>> figure = ground_motion(GroundMotion(np.cos(8 * t) * np.exp(-t / 2), 0.01), periods=[0.1, 0.5, 1, 2])
    >>> [axes.get_ylabel() for axes in figure.axes][:3]
    ['acceleration [m/s²]', 'velocity [mm/s]', 'displacement [mm]']
    """
    figure = page(7.0)
    grid = figure.add_gridspec(4, 1, height_ratios=[1, 1, 1, 1.7])
    start, end = motion.significant_times()
    first = None
    for row, word in enumerate(("acceleration", "velocity", "displacement")):
        signal = getattr(motion, word)()
        values = signal(signal.times)
        # Accelerations stay in m/s², whatever their size: nobody thinks of shaking in mm/s².
        factor, unit = (1.0, "m/s²") if word == "acceleration" else scaled(signal.unit, [values])
        axes = figure.add_subplot(grid[row], sharex=first)
        first = first or axes
        axes.axvspan(start, end, color=SHADE, linewidth=0, zorder=0)
        axes.plot(*envelope(signal.times, drawable(factor * values)), color=DESIRED["color"], linewidth=0.8)
        dress(axes, "time [s]" if row == 2 else "", labelled(word, unit), ticks=4)
        axes.set_xlim(0, signal.duration)
        if row < 2:
            axes.tick_params(labelbottom=False)
    assert first is not None
    heading(first, _said(motion))
    below = figure.add_subplot(grid[3])
    spectrum = motion.spectrum(checked_periods(periods), damping)
    S = spectrum.pseudo_acceleration
    below.plot(spectrum.periods, S, label=f"{100 * damping:g} % damping", **DESIRED)
    if target is not None:
        wanted = ResponseSpectrum.lines_of(target)
        below.plot(*wanted, label="target", **ACTUAL)
    dress(below, "period [s]", "pseudo-acceleration [m/s²]")
    below.set_xscale("log")
    below.set_ylim(bottom=0)
    legend(below)
    return finish(figure, path)


def _said(motion: GroundMotion) -> str:
    words = [
        motion.title[:48], f"peak {motion.peak:.3g} m/s²", f"Arias {motion.arias_intensity:.3g} m/s",
        f"{motion.significant_duration():.3g} s from 5 to 95 %",
    ]  # fmt: skip
    return ", ".join(word for word in words if word)
