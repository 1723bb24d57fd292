"""What `bondloop identify` does with several inputs and outputs, and with a model that is to be watched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.cli.answers import print_json

if TYPE_CHECKING:
    from bondloop.identify.data import Data
    from bondloop.identify.input_output import InputOutput
    from bondloop.identify.matrix_fit import MatrixFit

__all__ = ["matrix_of", "tell_matrix", "watch"]


def matrix_of(
    data: Data,
    inputs: list[str],
    outputs: list[str],
    model: str,
    common_poles: bool,
    hold: str,
    max_delay: float | None,
) -> MatrixFit:
    """Fit a model to every pair of the named channels."""
    import numpy as np

    from bondloop.identify import fit_matrix

    for name in inputs:  # each pair is looked at, and what makes a fit impossible is refused by name
        for other in outputs:
            data.select(name, other)
    u, y = (np.column_stack([data[name] for name in names]) for names in (inputs, outputs))
    return fit_matrix(
        u, y, data.sample_period, model, common_poles=common_poles, hold=hold, max_delay=max_delay
    )


def tell_matrix(
    fit: MatrixFit, inputs: list[str], outputs: list[str], folder: Path, figures: bool, as_json: bool
) -> None:
    """Write a model file for every entry, and a figure; print what was found."""
    folder.mkdir(parents=True, exist_ok=True)
    wrote = []
    for i, row in enumerate(fit.matrix):
        for j, entry in enumerate(row):
            path = folder / f"model_{i}_{j}.json"
            entry.save(path, {"input": inputs[j], "output": outputs[i], "fit": fit.fit[i]})
            wrote.append(path)
    if figures:
        wrote.append(folder / "identification.png")
        fit.figure(wrote[-1])
    if as_json:
        names = {"inputs": inputs, "outputs": outputs, "wrote": [str(path) for path in wrote]}
        print_json({**fit.to_dict(), **names})
        return
    for i, row in enumerate(fit.matrix):
        for j, entry in enumerate(row):
            print(f"{outputs[i]} from {inputs[j]}: {entry}")
        print(f"{outputs[i]}: fit {fit.fit[i]:.2f} %")
    for path in wrote:
        print(f"wrote {path}")


def watch(pair: InputOutput, model: Path, hold: str, as_json: bool) -> None:
    """Say whether a model still holds on a record."""
    from bondloop.identify import model_drift
    from bondloop.transfer.process import Process

    drift = model_drift(pair.input, pair.output, pair.sample_period, Process.load(model), hold=hold)
    if as_json:
        print_json({"model": str(model), **drift.to_dict(), "warnings": list(pair.warnings)})
        return
    print(drift)
    for sentence in pair.warnings:
        print(f"bondloop: warning: {sentence}", file=sys.stderr)
