"""The page of the check's rules, a section each, and the table of its limits in docs/check.md.

Run: python docs/check_rules.py
"""

# ruff: noqa: INP001 - a script, no part of a package

from __future__ import annotations

import re
from pathlib import Path

from bondloop.check.policy import limits
from bondloop.check.rules import RULES

PAGE = Path(__file__).parent / "check-rules.md"
TABLE = Path(__file__).parent / "check.md"
BEGIN, END = "<!-- limits: made by check_rules.py -->\n", "<!-- end of limits -->\n"

HEAD = """# The rules of the check

Every finding of [the check](check.md) has the name of its rule. A name stays what it is from release to
release, so that an accepted finding means the same next year. This page is written by `make pages`.

| level | what the verdict makes of it |
|---|---|
| stop | *Do not run this test on a rig* |
| worthless | *It can be run, but is not worth running* |
| care | *Run it with care* |

The worst finding that nobody has accepted decides. An ellipsis stands for what a report fills in.
"""

LEVELS = {"stop": "stop", "vain": "worthless", "care": "care", "run": "none"}
FAMILIES = {
    "1": "What cannot be built or analysed",
    "2": "Stability of the linearised loop",
    "3": "Margins",
    "4": "Limits, actuators and sensors",
    "5": "The ensemble",
    "6": "What the result is worth",
    "7": "Parts that others have made",
}


def sentence(template: str) -> str:
    """Return the words of a template, with an ellipsis for every number and name.

    >>> sentence("a motion at {frequency:.3g} Hz grows")
    'a motion at … Hz grows'
    """
    return re.sub(r"\{[^}]*\}", "…", template)


def page() -> str:
    """Return the page of all rules, in the order of their names."""
    rules = sorted(RULES, key=lambda rule: rule.name)
    lines = [HEAD, "| rule | level | what it finds |", "|---|---|---|"]
    lines += [f"| [{r.name}](#{r.name.lower()}) | {LEVELS[r.level]} | {r.title} |" for r in rules]
    family = ""
    for rule in rules:
        if rule.name[2] != family:
            family = rule.name[2]
            lines += ["", f"## {FAMILIES[family]}"]
        lines += ["", f"### {rule.name}", "", f"**{rule.title}** ({LEVELS[rule.level]})"]
        lines += ["", f"> {sentence(rule.text)}", "", rule.page]
    return "\n".join(lines) + "\n"


def number(value: float, unit: str) -> str:
    """Return a default with its unit.

    >>> number(0.002, "s"), number(5.0, "s"), number(0.1, "1")
    ('2 ms', '5 s', '0.1')
    """
    if unit == "1":
        return f"{value:g}"
    return f"{1e3 * value:g} ms" if unit == "s" and value < 0.1 else f"{value:g} {unit}"


def table() -> str:
    """Return the table of the policy's limits."""
    lines = ["| limit | default | may be | reason |", "|---|---|---|---|"]
    for name, limit in limits().items():
        allowed = limit.words.removeprefix("a number ")
        allowed += " s" if limit.unit == "s" else ""
        lines.append(f"| `{name}` | {number(limit.default, limit.unit)} | {allowed} | {limit.reason} |")
    return "\n".join(lines) + "\n"


def written(text: str) -> str:
    """Return docs/check.md with the table as it is now."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    TABLE.write_text(written(TABLE.read_text(encoding="utf-8")), encoding="utf-8")
