"""The figures of one run, as ``run.plot.subspace()`` and its kin: the subspace plot, and all on one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba

from bondloop.display import brief
from bondloop.engine.data import POSITIVE, number
from bondloop.engine.ir import Role
from bondloop.errors import InputError
from bondloop.results.assess.tracking import delay, normalised_rms_error
from bondloop.results.figures.earthquake import draw_loops, drift_profile, energies, hysteresis
from bondloop.results.figures.histories import Groups, draw_history, gains, time_histories
from bondloop.results.figures.layout import (
    COLOURS,
    ERROR,
    GREY,
    INK,
    REFERENCE,
    STYLE,
    drawable,
    dress,
    envelope,
    finish,
    heading,
    ink,
    labelled,
    legend,
    note,
    page,
    plain,
    round_steps,
    scaled,
    trajectory,
)
from bondloop.results.figures.spectra import draw_spectrum
from bondloop.results.figures.structures import force_diagram
from bondloop.structures import largest_forces

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec
    from numpy.typing import NDArray

    from bondloop.results.records.record import Record
    from bondloop.structures import Structure


WIDTHS = {1: 3.5, 2: 6.0, 3: STYLE.width}
"""Inches across for so many plots side by side."""


def subspace(
    desired: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    actual: NDArray[np.float64] | Sequence[NDArray[np.float64]],
    unit: str | Sequence[str] = "m",
    *,
    sample_period: float | str | None = None,
    titles: Sequence[str] = (),
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw actual against desired motion, with the 45° line of perfect synchronisation.

    An amplitude error turns the figure off the line, a delay opens it into an ellipse. The axes are square
    with equal scales; the normalised rms error and, with `sample_period`, the delay are written over
    them.

    Parameters
    ----------
    desired, actual
        Signals, shape (n,); or one of each for every actuator, drawn side by side, three in a row.
    unit
        Their unit, or one for each actuator.
    sample_period
        Seconds between samples, for the delay.
    titles
        One for each actuator.
    path
        Where to save.

    References
    ----------
    Gawthrop, Wallace and Wagg (2005), section 5.2 and Figures 13 to 15.

    Examples
    --------
    >>> t = np.arange(1000) * 1e-3
    >>> figure = subspace(np.sin(30 * t), np.sin(30 * (t - 0.01)), "m", sample_period=1e-3)
    >>> figure.axes[0].texts[0].get_text()
    'NRMSE 29.9 %, delay 10.0 ms'
    """
    if sample_period is not None:
        sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    x, y = _several(desired), _several(actual)
    if len(x) != len(y) or not x:
        raise InputError(
            f"{len(x)} desired and {len(y)} actual signals; as many of one as of the other are needed"
        )
    if titles and len(titles) != len(x):
        raise InputError(f"{len(titles)} titles for {len(x)} actuators")
    units = [unit] * len(x) if isinstance(unit, str) else list(unit)
    if len(units) != len(x):
        raise InputError(f"{len(units)} units for {len(x)} actuators")
    across = min(3, len(x))
    rows = -(-len(x) // across)
    width = WIDTHS[across]
    figure = page(rows * (width / across + (0.2 if titles else 0.1)), width)
    grid = figure.subplots(rows, across, squeeze=False).ravel()
    for k, axes in enumerate(grid):
        if k >= len(x):
            axes.remove()
            continue
        draw_subspace(axes, x[k], y[k], units[k], sample_period)
        if titles:
            heading(axes, titles[k], lines_below=1)
    return finish(figure, path)


def draw_subspace(
    axes: Axes,
    desired: NDArray[np.float64],
    actual: NDArray[np.float64],
    unit: str,
    sample_period: float | None,
) -> None:
    """Draw one subspace plot into axes."""
    x, y = drawable(desired), drawable(actual)
    factor, shown = scaled(unit, (x, y))
    x, y = x * factor, y * factor
    both = np.concatenate((x, y))
    low, high = (float(np.nanmin(both)), float(np.nanmax(both))) if np.isfinite(both).any() else (-1.0, 1.0)
    margin = 0.06 * (high - low) or 1.0
    limits = (low - margin, high + margin)
    axes.plot(limits, limits, color=GREY, linewidth=0.8, linestyle=(0, (5, 2)), zorder=1.5)
    line_x, line_y = trajectory(x, y)
    if line_x.size <= 2 * STYLE.dense:
        axes.plot(line_x, line_y, color=COLOURS[0], linewidth=0.9, solid_joinstyle="round", zorder=2)
    else:  # too many points for a vector file to open, or for a line to be drawn in a second
        picture = np.zeros((STYLE.cells, STYLE.cells, 4))
        picture[ink(x, y, *limits)] = to_rgba(COLOURS[0])
        axes.imshow(picture, extent=(*limits, *limits), origin="lower", interpolation="nearest", zorder=2)
    dress(axes, labelled("desired", shown), labelled("actual", shown))
    axes.xaxis.set_major_locator(round_steps(5))
    axes.set(xlim=limits, ylim=limits)
    axes.set_aspect("equal", adjustable="box")
    note(axes, summary(desired, actual, sample_period))


def summary(desired: NDArray[np.float64], actual: NDArray[np.float64], sample_period: float | None) -> str:
    """Return the normalised rms error and the delay in words, of the part before a run left the finite."""
    sound = np.isfinite(desired) & np.isfinite(actual)
    count = sound.size if sound.all() else int(np.argmin(sound))
    if count < 4:
        return "no finite samples"
    x, y = desired[:count], actual[:count]
    error = normalised_rms_error(x, y)
    lines = [f"NRMSE {f'{100 * error:#.3g}'.rstrip('.')} %" if np.isfinite(error) else "NRMSE undefined"]
    if sample_period is not None:
        try:
            lag = delay(x, y, sample_period)
        except InputError:
            lag = float("nan")
        text = f"{1e3 * lag:.3g}" if abs(lag) < 1e-3 else f"{1e3 * lag:.1f}"
        lines.append(f"delay {text} ms" if np.isfinite(lag) else "delay undefined")
    return ", ".join(lines)


def _several(signals: NDArray[np.float64] | Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    if isinstance(signals, np.ndarray) and signals.ndim == 1:
        return [signals]
    return [np.asarray(signal, dtype=np.float64) for signal in signals]


Pairs = Mapping[str, Sequence[str]]


def overview(
    record: Record,
    pairs: Pairs,
    *,
    title: str = "",
    compared: Record | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw for every actuator its history, its error and its subspace plot; and what else is recorded of it.

    That is the velocity beside the reference's (the complete structure, computed beside the test), the force,
    and the force over the displacement.

    Parameters
    ----------
    record
        The run.
    pairs
        Desired and actual channel of each actuator, by its name.
    title
        Over the page; the status of a run that did not complete stands beneath it.
    compared
        The part of the record whose error and subspace plot are drawn; all of it if not given.
    path
        Where to save.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> len(overview(record, {"actuator 1": ("z", "x")}).axes)
    3
    """
    checked(record, pairs)
    part = record if compared is None else compared
    blocks = [Block.of(record, label, *names) for label, names in pairs.items()]
    figure = page(0.35 + sum(block.height for block in blocks))
    heights = [height for block in blocks for height in block.heights]
    grid = figure.add_gridspec(len(heights), 2, width_ratios=(1.75, 1), height_ratios=heights)
    left: list[Axes] = []
    row = 0
    for block in blocks:
        left += block.draw(figure, grid, row, record, part)
        row += len(block.heights)
    figure.align_ylabels(left)
    status = str(record.attributes.get("status", "completed"))
    lines = [plain(title)] if title else []
    if status != "completed":
        message = str(record.attributes.get("message", ""))
        lines.append(plain(f"{status}: {message}" if message else status))
    if lines:
        text = "\n".join(part for line in lines for part in wrap(line, 80))
        colour = COLOURS[1] if status != "completed" else INK
        figure.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold", color=colour)
    return finish(figure, path)


@dataclass(frozen=True)
class Block:
    """What is drawn of one actuator.

    Attributes
    ----------
    label
        Its name.
    desired, actual
        Channels of its motion.
    reference
        Channel of the same motion in the reference, if it is recorded.
    rate
        Channels of the desired velocity and of the reference's, if these are recorded.
    force
        Channel of the force at it, if it is recorded.
    """

    label: str
    desired: str
    actual: str
    reference: str | None
    rate: tuple[str, str] | None
    force: str | None

    @classmethod
    def of(cls, record: Record, label: str, desired: str, actual: str) -> Block:
        """Find what is recorded at the interface of a desired channel."""
        if desired not in record.meanings:
            return cls(label, desired, actual, None, None, None)
        pairs = {record.meanings[n].counterpart: n for n in record.channels_of(Role.REFERENCE)}
        rate = record.at_interface(desired, Role.DESIRED, "flow")
        force = record.at_interface(desired, Role.ACTUAL, "effort")
        both = (rate, pairs[rate]) if rate in pairs and desired not in pairs else None
        return cls(label, desired, actual, pairs.get(desired), both, force)

    @property
    def heights(self) -> list[float]:
        """Heights of its rows, against each other."""
        below = [1.25, 1.25] if self.rate and self.force else [1.7] if self.rate or self.force else []
        return [1.7, 1.0, *below]

    @property
    def height(self) -> float:
        """Inches."""
        return sum(self.heights)

    def draw(self, figure: Figure, grid: GridSpec, row: int, record: Record, part: Record) -> list[Axes]:
        """Draw it from a row of the grid on; return the axes on the left."""
        above = figure.add_subplot(grid[row, 0])
        motions = {"desired": self.desired, "actual": self.actual}
        looks = {"reference": REFERENCE}
        draw_history(
            above, record, motions | ({"reference": self.reference} if self.reference else {}), looks
        )
        heading(above, self.label, lines_below=1)
        below = figure.add_subplot(grid[row + 1, 0], sharex=above)
        draw_error(below, part, self.desired, self.actual)
        stack, at = [above, below], row + 2
        for group in (
            {"desired": self.rate[0], "reference": self.rate[1]} if self.rate else None,
            {"force": self.force} if self.force else None,
        ):
            if group is not None:
                stack.append(figure.add_subplot(grid[at, 0], sharex=above))
                draw_history(stack[-1], record, group, looks)
                at += 1
        for axes in stack[:-1]:
            axes.tick_params(labelbottom=False)
        for axes in stack:
            if len(axes.lines) > 1 and axes is not below:
                legend(axes)
        stack[-1].set_xlabel("time [s]", fontsize=STYLE.label, color=INK, labelpad=3)
        period = record.sample_period if len(record) > 1 else None
        beside = figure.add_subplot(grid[row : row + 2, 1])
        draw_subspace(beside, part[self.desired], part[self.actual], record.units[self.desired], period)
        if self.force is not None:
            draw_loops(figure.add_subplot(grid[row + 2 : at, 1]), record, self.actual, self.force)
        return stack


def draw_error(axes: Axes, part: Record, desired: str, actual: str) -> None:
    """Draw actual minus desired into axes."""
    error = drawable(part[actual]) - drawable(part[desired])
    factor, shown = scaled(part.units[desired], [error])
    x, y = envelope(part.time, error * factor)
    axes.axhline(0.0, color=GREY, linewidth=0.6, zorder=1)
    axes.plot(x, y, **ERROR)
    dress(axes, "", labelled("error", shown), ticks=4)


def checked(record: Record, pairs: Pairs) -> None:
    """Refuse pairs that are no pairs, unknown channels, and pairs of two units."""
    if not pairs:
        raise InputError("no pairs to draw; give at least one, such as {'actuator 1': ('z1', 'x1')}")
    for label, names in pairs.items():
        if isinstance(names, str) or len(names) != 2:
            raise InputError(f"pair '{label}': a desired and an actual channel are needed; found {names!r}")
        _ = [record[name] for name in names]
        one, other = (record.units[name] for name in names)
        if one != other:
            raise InputError(
                f"pair '{label}': '{names[0]}' is in {one or 'no unit'}, '{names[1]}' in {other or 'no unit'}"
            )


Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class RunPlots:
    """The figures of a run whose actuators are known.

    Parameters
    ----------
    record
        The run.
    pairs
        Desired and actual channel of each actuator, by its name.
    gain_names
        Channels of adaptive gains, if the controller has any.
    title
        Over the overview.
    compared
        The part of the record in which actual is to be desired; all of it if not given. Errors, subspace
        plots and spectra are of this part.
    nodal
        Gives a structure of the run, by the path of its names, with the motion of its nodes over time, shape
        (times, nodes, 6).

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> plot = RunPlots(record, {"actuator 1": ("z", "x")})
    >>> type(plot.subspace()).__name__
    'Figure'
    >>> plot.gains()
    Traceback (most recent call last):
    bondloop.errors.InputError: this run has no adaptive gains
    """

    record: Record
    pairs: Pairs
    gain_names: Sequence[str] = ()
    title: str = ""
    compared: Record | None = None
    nodal: Callable[[str | None], tuple[Structure, NDArray[np.float64]]] | None = None

    __repr__ = brief

    @property
    def _compared(self) -> Record:
        return self.record if self.compared is None or len(self.compared) < 2 else self.compared

    def histories(self, groups: Groups | None = None, *, path: Path | None = None) -> Figure:
        """Draw desired and actual motion of every actuator over time, or the groups given.

        Parameters
        ----------
        groups
            Titles, each with its curves: channels by label. None: desired and actual motion.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        if groups is None:
            groups = {name: {"desired": d, "actual": a} for name, (d, a) in self.pairs.items()}
        return time_histories(self.record, groups, path=path)

    def subspace(self, *, path: Path | None = None) -> Figure:
        """Draw the subspace plot of every actuator, side by side.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        checked(self.record, self.pairs)
        desired, actual = zip(*self.pairs.values(), strict=True)
        return subspace(
            [self._compared[name] for name in desired],
            [self._compared[name] for name in actual],
            [self.record.units[name] for name in desired],
            sample_period=self.record.sample_period,
            titles=list(self.pairs),
            path=path,
        )

    def gains(self, *, path: Path | None = None) -> Figure:
        """Draw the adaptive gains.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        if not self.gain_names:
            raise InputError("this run has no adaptive gains")
        return gains(self.record, self.gain_names, path=path)

    def spectra(self, *, highest: float | str | None = None, path: Path | None = None) -> Figure:
        """Draw the spectra of every actuator, stacked, up to `highest` [Hz].

        Parameters
        ----------
        highest
            Where the axis of frequencies ends, in Hz; None: a little beyond the last
            line above the noise.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        checked(self.record, self.pairs)
        end = None if highest is None else number(highest, "highest", "Hz")
        figure = page(0.3 + 2.3 * len(self.pairs))
        stack = figure.subplots(len(self.pairs), 1, squeeze=False)[:, 0]
        period = self.record.sample_period
        for axes, (label, (desired, actual)) in zip(stack, self.pairs.items(), strict=True):
            x, y = self._compared[desired], self._compared[actual]
            draw_spectrum(axes, x, y, period, self.record.units[desired], end)
            heading(axes, label, lines_below=1)
        return finish(figure, path)

    def drifts(self, *, path: Path | None = None) -> Figure:
        """Draw the largest drift of every storey that is recorded.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return drift_profile(self.record, path=path)

    def energies(self, *, path: Path | None = None) -> Figure:
        """Draw where the energy went, as far as it is recorded.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return energies(self.record, path=path)

    def hysteresis(
        self, pairs: Mapping[str, tuple[str, str]] | None = None, *, path: Path | None = None
    ) -> Figure:
        """Draw force over displacement of every transfer system, or of channels named as pairs.

        Parameters
        ----------
        pairs
            Title: (displacement, force), names of channels. None: every transfer system.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return hysteresis(self.record, pairs, path=path)

    def forces(
        self,
        force: str = "M",
        time: float | str | None = None,
        structure: str | None = None,
        *,
        path: Path | None = None,
    ) -> Figure:
        """Draw a section force on the deformed structure, by default when that force is largest anywhere.

        Parameters
        ----------
        force
            ``"N"``, ``"V"``, ``"M"``; in space ``"N"``, ``"Vy"``, ``"Vz"``, ``"T"``, ``"My"``, ``"Mz"``.
        time
            When, in s; the nearest sample is drawn.
        structure
            Which, by the path of its names, ``"numerical.frame"``; the first by default.
        path
            Where to save.
        """
        if self.nodal is None:
            raise InputError("nothing is known of the structure of this record; draw with force_diagram(...)")
        frame, motion = self.nodal(structure)
        if time is None:
            k = int(np.argmax(largest_forces(frame, motion, force)))
        else:
            k = int(np.argmin(np.abs(self.record.time - number(time, "time", "s"))))
        when = f"t = {self.record.time[k]:.4g} s"
        when += ", its largest in the run" if time is None else ", this instant"
        return force_diagram(frame, motion[k], force, title=when, path=path)

    def overview(self, *, path: Path | None = None) -> Figure:
        """Draw motion, error, subspace plot, reference, force and its loops of every actuator on one page.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return overview(self.record, self.pairs, title=self.title, compared=self._compared, path=path)
