"""The check as a figure: open loop with margins, tracking, eigenvalues of one step, dry run."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.check.finding import UNBUILT, multiple
from bondloop.check.tolerances import FOLLOWED, NO_LOOP
from bondloop.engine.ir import Role
from bondloop.results.figures import COLOURS, GREY, INK, STYLE, dress, finish, heading, legend, page, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.check.checking import Check


GOOD, BAD = COLOURS[2], COLOURS[1]


LINES = tuple(c for c in COLOURS if c not in (GOOD, BAD))
"""Colours of interfaces: not those that mean something."""


def draw_check(check: Check, path: str | os.PathLike[str] | None = None, *, titled: bool = True) -> Figure:
    """Draw a check; what does not apply is said in its place, and a loop without responses has two axes.

    Parameters
    ----------
    check
        The check.
    path
        Where to save.
    titled
        Whether the verdict stands over it; not where it stands beside.
    """
    responses = check.curves is not None or check.dry_run is None
    figure = page(6.6 if responses else 3.4)
    grid = figure.subplots(2 if responses else 1, 2, squeeze=False)
    if responses:
        said = _marks(check), _followed(check)
        curves = check.curves
        several = curves is not None and max(curves.loci.shape[1], curves.tracking.shape[1]) > 1
        below = max(1, *map(len, said)) + several  # lines under both titles: what is said, and a legend
        _open_loop(grid[0, 0], check, said[0], below)
        _tracking(grid[0, 1], check, said[1], below)
    _eigenvalues(grid[-1, 0], check)
    _dry_run(grid[-1, 1], check)
    if titled:
        colour = {"run": "#00704f", "care": "#a85500", "vain": "#a3231b", "stop": "#a3231b"}[
            check.level
        ]  # dark enough for text
        words = "\n".join(textwrap.wrap(plain(f"{check.name}: {check.verdict}"), 88))
        figure.suptitle(words, fontsize=STYLE.label, color=colour, fontweight="bold", x=0.02, ha="left")
    return finish(figure, path)


def _nothing(axes: Axes, title: str, why: str, below: int = 1) -> None:
    """Say why there is nothing to draw."""
    dress(axes)
    heading(axes, title, lines_below=below)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(
        0.5, 0.5, "\n".join(textwrap.wrap(why, 38)), ha="center", va="center",
        fontsize=STYLE.small, color=GREY, transform=axes.transAxes,
    )  # fmt: skip


def _frequency(axes: Axes, f: NDArray[np.float64]) -> None:
    """Make frequencies the horizontal axis."""
    axes.set_xscale("log")
    axes.set_xlim(float(f[0]), float(f[-1]))
    axes.set_xlabel("frequency [Hz]", fontsize=STYLE.label, color=INK)


def _marks(check: Check) -> list[str]:
    """Return what is said of the open loop, in lines."""
    m, marks = check.margins, []
    if check.curves is None or not (np.abs(check.curves.loci) > NO_LOOP).any():
        return []
    if m is not None and m.delay is not None and m.delay.found:
        marks.append(f"breaks at {m.delay.frequency:.3g} Hz with {1e3 * m.delay.value:.3g} ms more delay")
    more = []
    if m is not None and m.gain is not None and m.gain.found:
        more.append(f"gain margin {multiple(m.gain.value)} ({m.gain.frequency:.3g} Hz)")
    if check.step is not None and not check.step.stable:
        more.append(f"grows at {check.step.frequency:.3g} Hz")
    return [*marks, "; ".join(more)] if more else marks


def _open_loop(axes: Axes, check: Check, marks: Sequence[str], below: int) -> None:
    title = "open loop"
    if check.curves is None:
        _nothing(axes, title, UNBUILT, below)
        return
    if check.margins is not None and check.margins.where:
        title = textwrap.shorten(f"open loop, {check.margins.where}", 44, placeholder=" ...")
    f, loci = check.curves.frequency, check.curves.loci
    size = np.sort(np.abs(loci), axis=1)[:, ::-1]
    if not (size > NO_LOOP).any():
        why = "nothing comes back: the force is not fed back, or the specimen does not push here"
        _nothing(axes, title, why, below)
        return
    axes.set_yscale("log")
    for i in range(size.shape[1]):
        label = None if size.shape[1] == 1 else f"locus {i + 1}"
        axes.plot(f, np.maximum(size[:, i], NO_LOOP), color=LINES[i % len(LINES)], linewidth=1.1, label=label)
    axes.axhline(1.0, color=GREY, linewidth=0.8)
    top = size[size > 0]
    axes.set_ylim(max(1e-6, 0.5 * float(np.percentile(top, 2))), 3 * max(1.0, float(top.max())))
    dress(axes, "", "size of the loop gain")
    _frequency(axes, f)
    legend(axes)
    _told(axes, title, marks, below)
    m = check.margins
    if m is not None and m.delay is not None and m.delay.found:
        axes.axvline(m.delay.frequency, color=BAD, linewidth=0.9, linestyle=(0, (3, 2)))
    if check.step is not None and not check.step.stable:
        axes.axvline(check.step.frequency, color=BAD, linewidth=0.9, linestyle=(0, (3, 2)))


def _told(axes: Axes, title: str, lines: Sequence[str], below: int) -> None:
    """Write a title and what is said of a loop over its axes: inside it would lie over a line."""
    heading(axes, title, lines_below=below)
    legended = axes.get_legend() is not None
    up = 2 + 11 * legended
    lines = [*lines, *[""] * (below - legended - len(lines))]  # so that they begin under the title
    axes.annotate(
        plain("\n".join(lines)), (0, 1), (0, up), xycoords="axes fraction", textcoords="offset points",
        fontsize=STYLE.small, color=INK, va="bottom", annotation_clip=False,
    )  # fmt: skip


def _followed(check: Check) -> list[str]:
    """Return what is said of the tracking, in lines."""
    band = min(check.margins.followed, default=0.0) if check.margins is not None else 0.0
    known = check.curves is not None and band > check.curves.frequency[0]
    return [f"followed to 5 % up to {band:.3g} Hz"] if known else []


def _tracking(axes: Axes, check: Check, followed: Sequence[str], below: int) -> None:
    title = "predicted tracking"
    if check.curves is None or not check.curves.tracking.shape[1]:
        why = "nothing drives the test, so there is nothing to follow"
        _nothing(axes, title, UNBUILT if check.curves is None else why, below)
        return
    f, ratio = check.curves.frequency, check.curves.tracking
    axes.set_yscale("log")
    for i in range(ratio.shape[1]):
        label = None if ratio.shape[1] == 1 else str(i + 1)
        axes.plot(
            f,
            100 * np.maximum(np.abs(ratio[:, i] - 1), 1e-6),
            color=LINES[i % len(LINES)],
            linewidth=1.1,
            label=label,
        )
    axes.axhline(100 * FOLLOWED, color=GREY, linewidth=0.8)
    axes.set_ylim(0.01, 1e3)
    dress(axes, "", "|actual/desired - 1| [%]")
    _frequency(axes, f)
    legend(axes)
    _told(axes, title, followed, below)
    if followed and check.margins is not None:
        axes.axvspan(float(f[0]), min(check.margins.followed), color=GOOD, alpha=0.12, linewidth=0)


def _eigenvalues(axes: Axes, check: Check) -> None:
    title = "eigenvalues of one step"
    if check.step is None or not len(check.step.eigenvalues):
        _nothing(axes, title, UNBUILT if check.dry_run is None else "the loop could not be linearised")
        return
    steps = [("where it starts", check.step, "o"), *(("as it moves", i.step, "x") for i in check.instants)]
    seen: set[str] = set()
    largest = 0.0
    for label, step, marker in steps:
        z = step.eigenvalues[np.abs(step.eigenvalues) > 1e-6]
        s = np.log(z) / step.period
        upper = s.imag >= 0
        growth, frequency = s.real[upper], s.imag[upper] / (2 * np.pi)
        largest = max(largest, float(np.abs(growth).max(initial=1.0)))
        for grows, colour in ((False, GOOD), (True, BAD)):
            part = (growth > 0) == grows
            axes.plot(
                growth[part],
                frequency[part],
                marker,
                color=colour,
                markersize=4,
                alpha=0.8,
                linestyle="none",
                markerfacecolor="none",
                label=None if label in seen or grows else label,
            )
            if part.any():
                seen.add(label)
    slow = min(
        (
            abs(float(np.log(abs(step.eigenvalues[0])) / step.period))
            for step in check.steps
            if abs(step.eigenvalues[0])
        ),
        default=1.0,
    )
    axes.set_xscale("symlog", linthresh=max(slow, 1e-3))
    axes.set_yscale("symlog", linthresh=1.0)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    right = max(10 * max(slow, 1e-3), 3 * max(0.0, *(step.growth for step in check.steps)))
    axes.axvspan(0.0, right, color=BAD, alpha=0.08, linewidth=0)
    axes.set_xlim(-2 * largest, right)
    axes.set_ylim(-0.1, 0.6 / check.step.period)
    dress(axes, "growth [1/s]", "frequency [Hz]")
    _few_ticks(axes)
    heading(axes, title, lines_below=1)
    legend(axes)


def _few_ticks(axes: Axes) -> None:
    """Keep at most some six ticks of a symmetric logarithmic axis, and no minor ones."""
    from matplotlib.ticker import NullLocator

    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_xlim()
    ticks = [t for t in axes.get_xticks() if low <= t <= high]
    left = [t for t in ticks if t < 0]
    kept = [*left[:-1][:: max(1, -(-len(left[:-1]) // 3))], 0.0, *[t for t in ticks if t > 0][-1:]]
    axes.set_xticks(kept)


def _dry_run(axes: Axes, check: Check) -> None:
    title = "dry run"
    ran = check.dry_run
    if ran is None:
        _nothing(axes, title, UNBUILT)
        return
    if ran.peak > 0:
        axes.set_yscale("log")
    count, interfaces = ran.windows.shape
    for i in range(interfaces):
        t = (np.arange(count) + 0.5) * ran.window
        kept = ran.windows[:, i] > 0
        label = "motion" if interfaces == 1 else str(i + 1)
        axes.plot(
            t[kept], 1e3 * ran.windows[kept, i], color=LINES[i % len(LINES)], linewidth=1.2, label=label
        )
    for k, twin in enumerate(check.twins if ran.peak > 0 else ()):
        axes.plot(
            twin.times, 1e3 * ran.peak * np.asarray(twin.distances), color=INK, linewidth=0.7, alpha=0.6,
            label=None if k else "small impulses",
        )  # fmt: skip
    limits = [ran.bounds[n] for n in ran.channels_of(Role.ACTUAL, kind="displacement") if n in ran.bounds]
    if limits:
        axes.axhline(1e3 * min(limits), color=BAD, linewidth=1.0)
        axes.annotate(
            "limit", (0.01, 1e3 * min(limits)), (0, -2), xycoords=axes.get_yaxis_transform(),
            textcoords="offset points", va="top", fontsize=STYLE.small, color=BAD,
        )  # fmt: skip
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, 1e-7 * high), high * 2)
    if not ran.completed:
        words = "\n".join(textwrap.wrap(f"stopped: {ran.message.partition(';')[0]}", 40))
        axes.text(
            0.03, 0.04, words, transform=axes.transAxes, fontsize=STYLE.small, color=BAD, va="bottom",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
        )  # fmt: skip
    dress(axes, "time [s]", "peak displacement [mm]")
    heading(axes, title, lines_below=1)
    legend(axes)
