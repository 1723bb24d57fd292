"""Kinds of which more can be said than their arguments: transfer functions, records, structures.

Each is said by a function of its description and of what a signal measures, which may let others be said by
the third; whatever it raises means that the description has not the form that it expects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from bondloop.report.number_words import in_unit, kind_words

__all__ = ["FEW", "SPECIAL", "several"]

FEW = 6
"""Entries of a list that are told."""


class Tell(Protocol):
    """Says what a description is of, with the unit of what a signal measures."""

    def __call__(self, description: object, unit: str, *, inside: bool) -> str:
        """Return the words."""


Special = Callable[[Mapping[str, Any], str, Tell], str]


def several(values: Sequence[Any], unit: str, tell: Tell) -> str:
    """Return the entries of a list; equal numbers once, a matrix by its size."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(values) > 1 and len(set(numbers)) == 1:
        return f"{len(values)} times {in_unit(float(numbers[0]), unit)}"
    if len(values) > 1 and all(isinstance(v, list) and len(v) == len(values[0]) for v in values):
        return f"a matrix of {len(values)} by {len(values[0])}"
    texts = [tell(v, unit, inside=True) for v in values[:FEW]]
    more = f", ... ({len(values)} in all)" if len(values) > FEW else ""
    return f"{', '.join(texts)}{more}"


def _process(description: Mapping[str, Any], _: str, _tell: Tell) -> str:
    """Say a process as its transfer function.

    >>> from bondloop.report.plain_words import told
    >>> told({"process": "Process", "numerator": [2.0], "denominator": [0.012, 1.0], "delay": 0.004})
    'G(s) = 2 / (0.012 s + 1), delay 4 ms'
    """
    above, below = _polynomial(description["numerator"]), _polynomial(description["denominator"])
    over = above if "+" not in above and " - " not in above else f"({above})"
    delay = float(description.get("delay") or 0.0)
    later = f", delay {in_unit(delay, 's')}" if delay else ""
    return f"G(s) = {over}{'' if below == '1' else f' / ({below})'}{later}"


def _polynomial(coefficients: Sequence[float]) -> str:
    """Write a polynomial in s, the highest power first.

    >>> _polynomial([1e-4, -0.02, 1.0]), _polynomial([0.0])
    ('0.0001 s² - 0.02 s + 1', '0')
    """
    highest = len(coefficients) - 1
    text = ""
    for i, value in enumerate(map(float, coefficients)):
        if value == 0.0:
            continue
        power = highest - i
        letter = "" if power == 0 else "s" if power == 1 else f"s{str(power).translate(RAISED)}"
        size = "" if letter and abs(value) == 1.0 else f"{abs(value):.5g}"
        sign = (" - " if text else "-") if value < 0 else (" + " if text else "")
        text += sign + " ".join(filter(None, (size, letter)))
    return text or "0"


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _actuator(description: Mapping[str, Any], unit: str, tell: Tell) -> str:
    return tell(description["process"], unit, inside=True)


def _table(description: Mapping[str, Any], unit: str, _: Tell, factor: float = 1.0) -> str:
    """Say how long a table is, and its largest value.

    >>> from bondloop.report.plain_words import told
    >>> told({"signal": "Table", "times": [0.0, 0.02, 0.04], "values": [0.0, -1.0, 0.5]}, "m/s^2")
    'table of 3 values over 0.04 s, largest 1 m/s²'
    """
    times, values = description["times"], np.abs(np.array(description["values"], dtype=float)) * abs(factor)
    length = float(times[-1]) - float(times[0])
    most = in_unit(float(values.max()), unit or str(description.get("unit") or ""))
    return f"table of {len(values):,} values over {length:.4g} s, largest {most}"


def _recorded(description: Mapping[str, Any], unit: str, _tell: Tell) -> str:
    samples, period = np.array(description["samples"], dtype=float), float(description["sample_period"])
    scale, motion = float(description.get("scale", 1.0)), str(description.get("motion", "motion"))
    own = {"acceleration": "m/s^2", "velocity": "m/s", "displacement": "m"}.get(motion, unit)
    most = in_unit(float(np.abs(samples).max()) * abs(scale), own)
    name = f" '{description['title']}'" if description.get("title") else ""
    times = "" if scale == 1.0 else f", scaled by {scale:.5g}"
    length = f"{len(samples):,} samples over {(len(samples) - 1) * period:.4g} s"
    return f"recorded {motion}{name}: {length}{times}, largest {most}"


def _scaled(description: Mapping[str, Any], unit: str, tell: Tell) -> str:
    factor, of = float(description["factor"]), description["of"]
    if isinstance(of, Mapping) and of.get("signal") == "Table":
        return f"{_table(of, unit, tell, factor)}, after scaling by {factor:.5g}"
    return f"{factor:.5g} times ({tell(of, '', inside=False)})"


def _sum(description: Mapping[str, Any], unit: str, tell: Tell) -> str:
    return " plus ".join(tell(term, unit, inside=True) for term in description["terms"])


def _matrices(description: Mapping[str, Any], _: str, _tell: Tell) -> str:
    """Say how many degrees of freedom matrices have, and which, and the masses on the diagonal.

    >>> from bondloop.report.plain_words import told
    >>> told({"matrices": "Matrices", "M": [[2.0, 0.0], [0.0, 1.0]], "C": [], "K": [], "dofs": ["a", "b"]})
    'mass, damping and stiffness matrices of 2 degrees of freedom (a, b), masses 2 kg, 1 kg'
    """
    mass, dofs = description["M"], description.get("dofs") or []
    names = f" ({', '.join(map(str, dofs[:FEW]))}{', ...' if len(dofs) > FEW else ''})" if dofs else ""
    masses = ", ".join(in_unit(float(row[i]), "kg") for i, row in enumerate(mass[:FEW]))
    count = f"{len(mass)} degree{'' if len(mass) == 1 else 's'} of freedom"
    more = ", ..." if len(mass) > FEW else ""
    return f"mass, damping and stiffness matrices of {count}{names}, masses {masses}{more}"


def _part_of(name: str) -> Special:
    """Return how to say what is nothing but one thing that it holds."""
    return lambda description, unit, tell: tell(description[name], unit, inside=False)


def _model(description: Mapping[str, Any], unit: str, tell: Tell) -> str:
    parts = description.get("parts") or {}
    inner = [f"{name}: {tell(part, unit, inside=True)}" for name, part in list(parts.items())[:FEW]]
    more = f"; ... ({len(parts)} parts)" if len(parts) > FEW else ""
    return f"{'; '.join(inner)}{more}" if inner else str(description.get("name") or "model")


def _shear_building(description: Mapping[str, Any], _: str, tell: Tell) -> str:
    """Say a shear building.

    >>> from bondloop.report.plain_words import told
    >>> told({"structure": "ShearBuilding", "masses": [2e4, 2e4], "stiffnesses": [1.2e7, 1e7]})
    'shear building of 2 storeys: masses 2 times 20 t, stiffnesses 12 MN/m, 10 MN/m'
    """
    units = {"masses": "kg", "stiffnesses": "N/m", "dampings": "N s/m", "heights": "m", "weights": "N"}
    said = [
        f"{name} {several(description[name], u, tell)}" for name, u in units.items() if description.get(name)
    ]
    if description.get("rayleigh"):
        alpha, beta = description["rayleigh"]
        said.append(f"Rayleigh damping {in_unit(alpha, '1/s')} and {in_unit(beta, 's')}")
    count = len(description["masses"])
    return f"shear building of {count} storey{'' if count == 1 else 's'}: {', '.join(said)}"


def _structure(description: Mapping[str, Any], _: str, _tell: Tell) -> str:
    """Say how many nodes and elements a structure has."""
    elements = description["elements"]
    one_by_one = elements.values() if isinstance(elements, Mapping) else elements
    counts = Counter(kind_words(str(e.get("element", "element"))) for e in one_by_one)
    said = [f"{n} of the kind {word}" for word, n in counts.items()]
    return f"structure of {len(description['nodes'])} nodes, elements: {', '.join(said)}"


SPECIAL: Mapping[str, Special] = {
    "Process": _process,
    "actuator": _actuator,
    "Table": _table,
    "Recorded": _recorded,
    "Scaled": _scaled,
    "Sum": _sum,
    "Matrices": _matrices,
    "from_matrices": _part_of("matrices"),
    "from_structure": _part_of("structure"),
    "from_model": _part_of("of"),
    "field_form": _part_of("matrices"),
    "network_form": _part_of("matrices"),
    "ode_element": _part_of("law"),
    "Model": _model,
    "ShearBuilding": _shear_building,
    "Structure": _structure,
}
"""How to say kinds whose arguments alone would not tell a reader much."""
