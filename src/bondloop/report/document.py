"""A report: one page that says what was tested, whether it might be, how it went, and how to repeat it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import bondloop
from bondloop.check import draw_check
from bondloop.display import folded, paragraph, picture, preformatted, section, table, with_progress
from bondloop.errors import BondloopError, InputError
from bondloop.realtime import summary_lines
from bondloop.rehearsal import Run
from bondloop.report.facts import (
    ReportedRun,
    differences,
    event_rows,
    facts,
    gather,
    limits_used,
    measure_rows,
    other_rig,
    parameter_rows,
    seconds_of,
)
from bondloop.report.figures import compared, figures_of
from bondloop.report.literature import WORKS, cite, works_of
from bondloop.report.tested import parts, units_of_parameters
from bondloop.results.figures import latencies
from bondloop.results.records import read_log
from bondloop.substructure import ExternalHalf

if TYPE_CHECKING:
    from bondloop.report.facts import ReportedRun

FRAMED_PARTS = 60
"""Parts of a bond graph up to which its sub-models are drawn with frames: more would overlap."""


def short(reported: Sequence[ReportedRun]) -> Iterator[str]:
    """Say how it went, and when, where and with what it ran."""
    for t in reported:
        grade = t.run.judgement.level
        kind = "" if grade is None else grade.words.replace(" ", "-")
        if len(reported) > 1:
            yield f"<h3>{escape(t.name)}</h3>"
        yield paragraph(t.run.verdict, f"verdict {kind}".strip())
        yield table(("", ""), facts(t.run), ["key"])


def measures(reported: Sequence[ReportedRun]) -> Iterator[str]:
    """Give the measures of every transfer system."""
    names = [t.name if len(reported) > 1 else "" for t in reported]
    head, rows = measure_rows([t.run for t in reported], names)
    if rows:
        yield table(head, rows, ["key", *["number"] * (len(head) - 1)])
    for note in dict.fromkeys(note for t in reported for m in t.run.metrics for note in m.notes):
        yield paragraph(note, "note")


def comparison(reported: Sequence[ReportedRun]) -> Iterator[str]:
    """Set several runs side by side: a figure, measures, and in what the tests differ."""
    runs, names = [t.run for t in reported], [t.name for t in reported]
    figure = compared(runs, names)
    if figure is not None:
        yield picture(figure, "Actual motion and error of the runs, over each other.")
    yield from measures(reported)
    rows = differences(runs)
    if rows:
        yield "<h3>What differs</h3>"
        yield table(["setting", *names], rows[:60], ["path"], name="even")
        if len(rows) > 60:
            yield paragraph(f"and {len(rows) - 60} more settings", "note")
    else:
        yield paragraph("The tests are the same in all that they say of themselves.", "note")
    if len({"realtime" in run.record.description for run in runs}) > 1:
        yield paragraph(
            "The runs are of different kinds: in a rehearsal `force` and `synchronisation.force` are of the "
            "true force of the specimen; in real time, where nobody knows it, of the measured one.",
            "note",
        )


def tested(t: ReportedRun) -> Iterator[str]:
    """Say what was tested, with its drawing and its parameters."""
    description = t.run.record.description
    yield table(("part", "what it is"), parts(description, t.test, t.run.record.units), ["key"])
    model = None if t.test is None else t.test.structure
    if model is not None:
        try:
            frames = sum(1 for _ in model.walk()) <= FRAMED_PARTS
            drawing = model.draw(title="", frames=frames)
            yield picture(drawing, "The structure as a bond graph.", "drawing")
        except BondloopError as error:
            yield paragraph(f"The structure could not be drawn: {error}", "note")
    not_in_force = f"Parameters of the emulated rig; not in force: the rig was {other_rig(description)}"
    units = units_of_parameters(t.test)
    for in_force, title in ((True, "Parameters, in SI units"), (False, not_in_force)):
        rows = parameter_rows(description, units, in_force=in_force)
        if rows:
            inner = table(("parameter", "value") * 2, rows, ["path", "number"] * 2, name="small")
            yield folded(title, inner)


def checked(t: ReportedRun) -> Iterator[str]:
    """Say whether the test may be run: verdict, figure, all that was found."""
    passed = t.run.record.attributes.get("check_passed")
    if passed is not None:
        words = "passed" if passed else "did NOT pass, and was overridden"
        yield paragraph(f"Before this run was started, the check {words}.")
    if t.why_not:
        yield paragraph(f"The test was not checked anew for this report: {t.why_not}", "note")
    if t.check is not None:
        other = other_rig(t.run.record.description)
        if other:
            yield paragraph(f"It is checked with its emulated rig; the rig of the run was {other}.", "note")
        kind = {"run": "very-well", "care": "poorly", "vain": "not-at-all", "stop": "not-at-all"}[
            t.check.level
        ]
        yield paragraph(t.check.verdict, f"verdict {kind}")
        loop = "" if t.check.curves is None else "open loop with margins, tracking, "
        yield picture(
            draw_check(t.check, titled=False), f"The check: {loop}eigenvalues of one step, dry run."
        )
        yield folded("All that the check found", preformatted(str(t.check)))


def preflight(t: ReportedRun) -> Iterator[str]:
    """Say who confirmed what before a machine was moved, and what was observed; or why nobody did."""
    run = t.run
    realtime = run.record.description.get("realtime")
    if run.operator:
        yield paragraph(f"Operator: {run.operator}.")
    if run.self_test:
        yield paragraph(f"Self-test of the safety layer at the start: {run.self_test}.")
    rows = [
        (i["text"], f"{i['kind']} by {i['by']}", i["at"][:19].replace("T", " "), i["evidence"])
        for i in run.preflight
    ]
    if rows:
        yield table(("item", "by whom", "when (UTC)", "evidence"), rows, ["", "", "key"])
    elif not isinstance(realtime, Mapping) or realtime.get("emulated", not realtime.get("machine")):
        yield paragraph("There was none: this was a rehearsal, and moved no machine.")
    elif run.record.attributes.get("rig_is_model"):
        yield paragraph("There was none: the rig was a model, by its own word.")
    else:
        words = "There was NONE, though the rig was taken for a machine: nobody confirmed anything."
        yield paragraph(words, "verdict poorly")


def outcome(t: ReportedRun) -> Iterator[str]:
    """Say how it went: findings with their grades, limits, figures."""
    found = [("-" if f.grade is None else f.grade.words, f.sentence) for f in t.run.judgement.findings]
    if found:
        yield table(("grade", "found"), found, ["grade"])
    used = limits_used(t.run)
    if used:
        yield table(("limit of", "largest", "limit", "used"), used, ["key", "", "number", "number"])
    for figure, caption in figures_of(t.run):
        yield picture(figure, caption, "half" if caption.startswith("Desired") else "")


def clock(t: ReportedRun) -> Iterator[str]:
    """Say how a loop kept its time, and what happened to it."""
    attributes = t.run.record.attributes
    if "timing" not in attributes and not attributes.get("lock_step"):
        return
    yield preformatted("\n".join(summary_lines(attributes)))
    if t.file is None:
        return
    try:
        clock, events = read_log(t.file)
    except InputError as error:
        yield paragraph(f"What the loop says of its cycles cannot be read: {error}", "note")
        return
    if "timing" in attributes and len(clock["wake"]) > 1:
        period = t.run.record.sample_period
        yield picture(
            latencies(clock["wake"], clock["busy"], period),
            "How late the loop woke up, and how long its cycles took.",
        )
    if events:
        yield "<h3>What happened</h3>"
        yield table(("time", "what", "before", "after", "who"), event_rows(events), ["number"])


def repeat(t: ReportedRun) -> Iterator[str]:
    """Say how to repeat the run."""
    commands = []
    if t.file is not None:
        commands.append(f"bondloop run {t.file.name}          # the same numbers, to the last bit")
        yield paragraph(f"File {t.file.name}, SHA-256 {hashlib.sha256(t.file.read_bytes()).hexdigest()}.")
    led = bool(t.run.record.attributes.get("served"))
    repeatable = "repeat" in t.run.record.description and not led
    if led:
        yield paragraph(
            "Another program led it, and leads it again: it is not repeated from this file.", "note"
        )
    if commands and repeatable:
        yield preformatted("\n".join(commands))
    elif t.file is None:
        yield paragraph(
            'The run was reported without a file; run.save("run.h5") keeps it, to be repeated exactly.'
        )
    if t.test is not None:
        try:
            seconds = seconds_of(t.run)
            text = bondloop.files.to_toml(t.test, seconds=seconds)
            other = other_rig(t.run.record.description)
            if other:  # within the text, so that who copies it takes the warning along
                text = f"# NOTE: {_not_this_rig(other)}\n\n{text}"
                yield paragraph(f"Beware: {_not_this_rig(other)}", "note")
            inner = preformatted(text)
            command = "serve" if isinstance(getattr(t.test, "numerical", None), ExternalHalf) else "run"
            yield folded(
                f"The test as a file: save it as test.toml, then bondloop {command} test.toml",
                inner,
                long=True,
            )
        except BondloopError as error:
            yield paragraph(f"The test cannot be written as a file: {error}", "note")


def _not_this_rig(other: str) -> str:
    return (
        f"the rig of this run was {other}. What the file says of the rig, and of the part of the structure "
        "that was on it, is of the emulated rig, which was not in force: run as it stands, it gives other "
        "numbers."
    )


def literature(reported: Sequence[ReportedRun]) -> Iterator[str]:
    """Name the works whose methods were used."""
    keys = list(dict.fromkeys(k for t in reported for k in works_of(t.run.record.description)))
    if keys:
        items = "\n".join(f"<li>{escape(WORKS[key].words)}</li>" for key in keys)
        yield f'<ol class="works">\n{items}\n</ol>'
    entries = list(dict.fromkeys(entry for t in reported for entry in cite(t.run).split("\n\n")))
    yield folded("BibTeX", preformatted("\n\n".join(entries)), long=True)


@with_progress("writing the report")
def write_report(
    runs: Run | str | Path | Sequence[Run | str | Path],
    path: str | Path | None = None,
    *,
    check: bool = True,
) -> str:
    r"""Write a report of one run, or of several side by side, as one self-contained page of HTML.

    The test is made again from what the run says of itself, drawn, and checked anew.

    Parameters
    ----------
    runs
        Runs, or the files that hold them.
    path
        Where to write the page; it ends in ``.html``.
    check
        Whether to check the test anew, which may take some seconds.

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> page = write_report(gawthrop_three_mass.test().run(5), check=False)
    >>> "How it went" in page, 'src="http' in page
    (True, False)
    """
    given = [runs] if isinstance(runs, (Run, str, Path)) else list(runs)
    if not given:
        raise InputError("nothing to report on; give a run, or the file of one")
    target = None if path is None else Path(path)
    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"cannot write a report to '{target.name}'; end the name in .html")
    reported = [gather(run, number, given, check=check) for number, run in enumerate(given, 1)]
    page = _page(reported)
    if target is not None:
        try:
            target.write_text(page, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    return page


def _page(reported: Sequence[ReportedRun]) -> str:
    names = list(dict.fromkeys(str(t.run.record.description.get("name") or "run") for t in reported))
    title = f"{', '.join(names)}: report" + (f" on {len(reported)} runs" if len(reported) > 1 else "")
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    body = "\n".join(part for part in _body(reported) if part)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{style}</style>",
    ]
    written = f"Written by bondloop {bondloop.__version__}"
    top = f"<header>\n<h1>{escape(title)}</h1>\n{paragraph(written, 'soft')}\n</header>"
    before, after = ["<!DOCTYPE html>", '<html lang="en">', "<head>"], ["</body>", "</html>", ""]
    return "\n".join([*before, *head, "</head>", "<body>", top, body, *after])


def _body(reported: Sequence[ReportedRun]) -> Iterator[str]:
    several = len(reported) > 1
    yield section("In short", short(reported), "short")
    if several:
        yield section("Side by side", comparison(reported), "beside")
    else:
        yield section("Measures", measures(reported), "measures")
    for t in reported:
        suffix = f", {t.name}" if several else ""
        tag = t.name.partition(":")[0] if several else ""
        yield section(f"What was tested{suffix}", tested(t), f"tested{tag}")
        yield section(f"May it be run?{suffix}", checked(t), f"check{tag}")
        yield section(f"Pre-flight{suffix}", preflight(t), f"preflight{tag}")
        yield section(f"How it went{suffix}", outcome(t), f"went{tag}")
        yield section(f"On the clock{suffix}", clock(t), f"clock{tag}")
        yield section(f"To repeat it{suffix}", repeat(t), f"repeat{tag}")
    yield section("Literature", literature(reported), "literature")
