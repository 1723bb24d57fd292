"""A report: one page that says what was tested, whether it might be, how it went, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import bondloop
from bondloop.display import paragraph, section, telling
from bondloop.errors import InputError
from bondloop.rehearsal import Run
from bondloop.report import sections
from bondloop.report.reported_run import ReportedRun, gather


@telling("writing the report")
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
    yield section("In short", sections.short(reported), "short")
    if several:
        yield section("Side by side", sections.beside(reported), "beside")
    else:
        yield section("Measures", sections.measures(reported), "measures")
    for t in reported:
        suffix = f", {t.name}" if several else ""
        tag = t.name.partition(":")[0] if several else ""
        yield section(f"What was tested{suffix}", sections.tested(t), f"tested{tag}")
        yield section(f"May it be run?{suffix}", sections.checked(t), f"check{tag}")
        yield section(f"Pre-flight{suffix}", sections.preflight(t), f"preflight{tag}")
        yield section(f"How it went{suffix}", sections.went(t), f"went{tag}")
        yield section(f"On the clock{suffix}", sections.clock(t), f"clock{tag}")
        yield section(f"To repeat it{suffix}", sections.repeat(t), f"repeat{tag}")
    yield section("Literature", sections.literature(reported), "literature")
