"""`bondloop identify`: from measured data to a model of the transfer system."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bondloop.cli.options import PATH, RATE, TIME, json_option
from bondloop.cli.output import print_json
from bondloop.display import at_work, silent

if TYPE_CHECKING:
    from bondloop.errors import InputError
    from bondloop.identify import Data, InputOutput
    from bondloop.identify.process import MatrixFit, ProcessFit, Ranking


@click.command("identify")
@click.argument(
    "file",
    type=PATH,
    metavar="FILE",
    help="Measured data: text, .lvm, .mat, .h5, .npz, .tdms, .mf4, .parquet.",
)
@click.option(
    "--input",
    "-u",
    "command",
    multiple=True,
    help="The channel of the command; repeat it for a matrix of models.",
)
@click.option(
    "--output", "-y", multiple=True, help="The channel of the measured motion; repeat it for a matrix."
)
@click.option("--model", "-m", default="auto", help='G1, G2, G1D, G2D, "3 poles, 1 zero, delay", or auto.')
@click.option(
    "--start", default="free", help="free: the record begins anyhow; rest: everything was zero before."
)
@click.option("--hold", default="zero", help="The input between samples: zero (held) or first (straight).")
@click.option("--max-delay", type=TIME, help="Longest delay to look for, in seconds.")
@click.option("--rate", type=RATE, help="Samples a second, for a file without time stamps.")
@click.option("--out", "-o", type=PATH, help="Folder for model file and figure; out/NAME if left out.")
@click.option("--figures/--no-figures", default=True, help="Draw Bode plot, time overlay and residuals.")
@click.option("--common-poles", is_flag=True, help="Of a matrix: the entries of a column share their poles.")
@click.option(
    "--drift", type=PATH, metavar="MODEL", help="Fit nothing; say whether this model file still holds."
)
@json_option
def identify(  # noqa: PLR0913, PLR0917 - an argument an option
    file: Path,
    command: tuple[str, ...],
    output: tuple[str, ...],
    model: str,
    start: str,
    hold: str,
    max_delay: float | None,
    rate: float | None,
    out: Path | None,
    figures: bool,
    common_poles: bool,
    drift: Path | None,
    as_json: bool,
) -> None:
    """Fit process models of a transfer system to measured data, with confidence, and say which to take."""
    from bondloop.identify import read_data
    from bondloop.identify.process import AUTO, rank_time

    with at_work(f"reading {file.name}", as_json):
        data = read_data(file, rate=rate)
    if not command or not output:
        raise _unnamed(data, command, output)
    folder = out or Path("out") / file.stem
    if drift is not None:
        watch(data.select(_single(command, "input"), _single(output, "output")), drift, hold, as_json)
        return
    automatic = model.strip().lower() == AUTO
    if len(command) > 1 or len(output) > 1:
        with at_work(f"fitting {len(command) * len(output)} models", as_json):
            fit = matrix_of(
                data, command, output, AUTO if automatic else model, common_poles, hold, max_delay
            )
        print_matrix(fit, command, output, folder, figures, as_json)
        return
    pair = data.select(command[0], output[0])
    models: str | list[str] = AUTO if automatic else [model]
    ranking = rank_time(
        pair.input, pair.output, pair.sample_period, models,
        progress=silent if as_json else None, start=start, hold=hold, max_delay=max_delay,
    )  # fmt: skip
    chosen = ranking.recommended
    warnings = [*pair.warnings, *chosen.warnings]
    folder.mkdir(parents=True, exist_ok=True)
    wrote = [_save(ranking, pair, file, folder / "model.json")]
    if figures:
        wrote.append(_draw(ranking, pair, folder / "identification.png", hold))
    if as_json:
        print_json(
            {
                "file": str(file), "input": command[0], "output": output[0], "samples": len(pair.input),
                "sample_period": pair.sample_period, **ranking.to_dict(), "warnings": warnings,
                "wrote": [str(path) for path in wrote],
            }
        )  # fmt: skip
        return
    if len(ranking.fits) > 1:
        print(ranking, end="\n\n")
    print(chosen if not chosen.warnings else _without_warnings(chosen))
    for name, reason in ranking.failed.items():
        print(f"{name} was left out: {reason}")
    for path in wrote:
        print(f"wrote {path}")
    for sentence in warnings:
        print(f"bondloop: warning: {sentence}", file=sys.stderr)


def _unnamed(data: Data, command: Sequence[str], output: Sequence[str]) -> InputError:
    """Return the error for channels that were not named, with those that the file has."""
    from bondloop.errors import InputError

    wanted = {"--input (-u), the command": command, "--output (-y), the measured motion": output}
    missing = " and ".join(option for option, names in wanted.items() if not names)
    known = ", ".join(f"'{name}' [{data.units[name]}]" if data.units[name] else f"'{name}'" for name in data)
    return InputError(f"{data.source}: name {missing}, among its channels {known}")


def _single(names: Sequence[str], role: str) -> str:
    from bondloop.errors import InputError

    if len(names) != 1:
        raise InputError(f"--drift watches one {role}; found {len(names)}: {', '.join(names)}")
    return names[0]


def _without_warnings(fit: ProcessFit) -> str:
    return "\n".join(line for line in str(fit).splitlines() if not line.startswith("warning: "))


def _save(ranking: Ranking, pair: InputOutput, file: Path, path: Path) -> Path:
    chosen = ranking.recommended
    about = {
        "source": file.name, "input": pair.input_name, "output": pair.output_name,
        "input_unit": pair.input_unit, "output_unit": pair.output_unit,
        "sample_period": pair.sample_period,
        **{key: value for key, value in chosen.to_dict().items() if key != "process"},
    }  # fmt: skip
    chosen.process.save(path, about)
    return path


def _draw(ranking: Ranking, pair: InputOutput, path: Path, hold: str) -> Path:
    import numpy as np

    from bondloop.identify import spectral_response
    from bondloop.results.figures import process_models

    chosen = ranking.recommended
    segments = int(np.clip(len(pair.input) // 1024, 2, 32))
    spectral = spectral_response(pair.input, pair.output, pair.sample_period, segments=segments)
    sure = spectral.coherence >= 0.8
    if sure.sum() < 8:
        sure = spectral.coherence >= np.sort(spectral.coherence)[-min(8, spectral.coherence.size)]
    frequency, response = spectral.frequency[sure], spectral.h1[sure]
    if hold == "zero":  # the converter's hold is in the measured response and not in the models
        x = frequency * pair.sample_period
        response = response / (np.sinc(x) * np.exp(-1j * np.pi * x))
    # Those of du Bois besides the one to take: the others would mostly cover it.
    shown = [chosen, *(f for f in ranking.fits if f is not chosen and f.name in ("G1", "G2", "G1D", "G2D"))]
    used = chosen.measured.size
    time = pair.time[-used:]
    moving = np.abs(np.diff(pair.input[-used:], prepend=pair.input[-used]))
    window = min(used, 1000)
    first = int(np.argmax(np.convolve(moving, np.ones(window), "valid")))
    part = slice(first, first + window)
    tests = chosen.tests
    process_models(
        frequency,
        response,
        {f.name: f.process for f in shown},
        time[part],
        chosen.measured[part],
        {chosen.name: chosen.predicted[part]},
        (tests.autocorrelation, tests.cross_correlation, tests.band) if tests is not None else None,
        unit=pair.output_unit,
        path=path,
    )
    return path


def matrix_of(
    data: Data,
    inputs: Sequence[str],
    outputs: Sequence[str],
    model: str,
    common_poles: bool,
    hold: str,
    max_delay: float | None,
) -> MatrixFit:
    """Fit a model to every pair of the named channels."""
    import numpy as np

    from bondloop.identify.process import fit_matrix

    for name in inputs:  # each pair is looked at, and what makes a fit impossible is refused by name
        for other in outputs:
            data.select(name, other)
    u, y = (np.column_stack([data[name] for name in names]) for names in (inputs, outputs))
    return fit_matrix(
        u, y, data.sample_period, model, common_poles=common_poles, hold=hold, max_delay=max_delay
    )


def print_matrix(
    fit: MatrixFit, inputs: Sequence[str], outputs: Sequence[str], folder: Path, figures: bool, as_json: bool
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
    from bondloop.transfer import Process

    drift = model_drift(pair.input, pair.output, pair.sample_period, Process.load(model), hold=hold)
    if as_json:
        print_json({"model": str(model), **drift.to_dict(), "warnings": list(pair.warnings)})
        return
    print(drift)
    for sentence in pair.warnings:
        print(f"bondloop: warning: {sentence}", file=sys.stderr)
