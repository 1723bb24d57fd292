"""The rows of the tables on the page about du Bois, Titurus and Lieven 2010.

Run: python examples/papers/dubois_tables.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dubois_programme
import numpy as np
from dubois_programme import BANDS, COMPARED, FRAMED, SIZES, SLOW, compared, tracking

from bondloop.papers.dubois_damper import MODELS, STANDARD, Bench, identified

if TYPE_CHECKING:
    from dubois_programme import Tracking

__all__ = ["bench_rows", "outlook_rows", "paper_rows", "rows"]

KNOWN_BANDS = ((1.0, 10.0), (12.5, 20.0), (25.0, 40.0), (50.0, 100.0))
"""Hz: bands of Figure 7."""


def rows() -> list[str]:
    """Return the rows of the page's tables of numbers, in the order of the page."""
    return [*paper_rows(), *bench_rows(), *outlook_rows(STANDARD), *outlook_rows(SLOW)]


def paper_rows() -> list[str]:
    """Return the rows of what the paper did: the fits, and the substructured runs of the standard bench."""
    lines = [_fit_row(name, STANDARD) for name in MODELS]
    made = dubois_programme.cases()
    for label, case in _named("none", "G1", "G2", "G1D long", "G1D short"):
        lines.append(_track_row(label, made[case]))
    used, large = dubois_programme.used_cases(), dubois_programme.large_cases()
    lines += [_track_row(label, used[case]) for label, case in _named("G1", "G2", "G1D short")]
    lines += [_track_row(label, large[case]) for label, case in _named("G1", "G2")]
    lines.append(_track_row("G1D, short prediction", large["G1D short"]))
    return lines


def bench_rows() -> list[str]:
    """Return the rows of a bench with a slow valve, and of one with a frame that moves."""
    lines = []
    for bench in (SLOW, FRAMED):
        lines += [_fit_row(name, bench) for name in MODELS]
    for name in MODELS:
        lines.append(
            _track_row(name if len(name) == 2 else f"{name}, short prediction", tracking(name, "short", SLOW))
        )
    lines += [_track_row(f"{name}, long prediction", tracking(name, "long", SLOW)) for name in ("G1D", "G2D")]
    return lines


def outlook_rows(bench: Bench) -> list[str]:
    """Return the rows of the controllers of the outlook on a bench."""
    made = compared(bench)
    return [_track_row(name, made[name]) for name in COMPARED]


def _named(*cases: str) -> list[tuple[str, str]]:
    return [(f"G1D, G2D, {case.split()[1]} prediction" if " " in case else case, case) for case in cases]


def _fit_row(name: str, bench: Bench) -> str:
    fit = identified(bench).fits[name]
    process = fit.process
    poles = process.poles()
    if name.startswith("G1"):
        shape = f"{1e3 * -1 / poles[0].real:.3g} ms"
    elif np.abs(poles).max() > 2 * np.pi * 1e4:
        shape = "as G1D"
    else:
        size = float(np.sqrt(np.abs(np.prod(poles))))
        shape = f"{size / (2 * np.pi):.1f} Hz, {-float(np.sum(poles.real)) / (2 * size):.2f}"
    errors = [100 * dubois_programme.known_error(name, *band, bench) for band in KNOWN_BANDS]
    delay = f"{1e3 * process.delay:.2f} ms" if process.delay else ""
    cells = [name, f"{process.gain:.3f}", shape, delay, f"{fit.fit:.0f} %", *(_percent(e) for e in errors)]
    return "| " + " | ".join(cells) + " |"


def _track_row(label: str, run: Tracking) -> str:
    cells = [label]
    for size in SIZES:
        for band in BANDS.values():
            error, rms = 100 * run.harmonic_error(*band, size), run.rms_error(*band, size)
            cells.append(f"{_short(error)} ({_short(rms)})")
    return "| " + " | ".join(cells) + " |"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def _percent(value: float) -> str:
    return f"{_short(value)} %"


if __name__ == "__main__":
    print(*rows(), sep="\n")
