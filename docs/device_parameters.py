"""The table of the devices' parameters in docs/laws.md, from the classes themselves.

Run: python docs/device_parameters.py
"""

# ruff: noqa: INP001 - a script, no part of a package

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from bondloop import devices
from bondloop.devices import Device
from bondloop.engine.data.described import Parameter

PAGE = Path(__file__).parent / "laws.md"
BEGIN, END = "<!-- parameters: made by device_parameters.py -->\n", "<!-- end of parameters -->\n"


def allowed(parameter: Parameter) -> str:
    """Return the range of a parameter in words."""
    r = parameter.range
    bounds = (("above", r.above), ("at least", r.least), ("at most", r.most))
    return ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None) or "any"


def rows(kind: type[Device]) -> list[str]:
    """Return the lines of a device: name, unit, range and default of each of its parameters."""
    result = []
    for field in fields(kind):
        parameter = next((vars(k)[field.name] for k in kind.__mro__ if field.name in vars(k)), None)
        if not isinstance(parameter, Parameter):
            continue
        unit = " or ".join(parameter.range.units) or "any"
        default = "must be given" if parameter.default is None else f"{parameter.default:g}"
        result.append(f"| `{field.name}` | {unit} | {allowed(parameter)} | {default} |")
    return result


def table() -> str:
    """Return the tables of all devices, in Markdown."""
    kinds = [getattr(devices, name) for name in sorted(devices.__all__)]
    parts = []
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Device) and (lines := rows(kind)):
            head = [f"| `{kind.__name__}` | unit | range | default |", "|---|---|---|---|"]
            parts.append("\n".join([*head, *lines]))
    return "\n\n".join(parts) + "\n"


def written(page: str) -> str:
    """Return the page with the tables as they are now."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
