"""Figure of a matrix of process models: gain and phase of every entry, measured and modelled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.plots.page import COLOURS, GREY, dress, finish, heading, legend, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.transfer.process import Process

    Entry = tuple[NDArray[np.float64], NDArray[np.complex128]]

__all__ = ["process_matrix"]


def process_matrix(
    measured: Sequence[Sequence[Entry]],
    models: Sequence[Sequence[Process]],
    *,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Draw gain and phase of every entry of a matrix.

    Parameters
    ----------
    measured
        For each output and input frequencies in Hz and responses.
    models
        The models, in the same order.
    path
        Where to save.
    """
    outputs, inputs = len(models), len(models[0])
    figure = page(0.6 + 2.9 * outputs)
    axes = figure.subplots(2 * outputs, inputs, sharex=True, squeeze=False)
    for i in range(outputs):
        for j in range(inputs):
            gain, phase = axes[2 * i][j], axes[2 * i + 1][j]
            f, H = measured[i][j]
            G = models[i][j].response(f)
            near = np.unwrap(np.angle(G))
            turned = near + np.angle(H / G)
            gain.semilogx(f, 20 * np.log10(np.abs(H)), ".", color=GREY, markersize=3, label="measured")
            gain.semilogx(f, 20 * np.log10(np.abs(G)), color=COLOURS[0], linewidth=1.2, label="model")
            phase.semilogx(f, np.degrees(turned), ".", color=GREY, markersize=3)
            phase.semilogx(f, np.degrees(near), color=COLOURS[0], linewidth=1.2)
            high = float(np.max(20 * np.log10(np.abs(G))))
            gain.set_ylim(min(float(np.min(20 * np.log10(np.abs(G)))), high - 6) - 3, high + 3)
            low, top = float(np.degrees(near.min())), float(np.degrees(near.max()))
            phase.set_ylim(low - 20, top + 20)
            dress(gain, "", "gain [dB]" if j == 0 else "")
            dress(phase, "frequency [Hz]" if i == outputs - 1 else "", "phase [°]" if j == 0 else "")
            heading(gain, f"output {i}, input {j}")
    legend(axes[0][0], 2)
    return finish(figure, path)
