"""What was tested, in words: the structure, the specimen with its values, what moves and measures it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph import Element, Model
from bondloop.bondgraph.elements import C, Field, I, MSe, MSf, Multiport, R, Se, Sf
from bondloop.devices import OdeElement
from bondloop.errors import BondloopError
from bondloop.report.facts import other_rig
from bondloop.report.plain_words import in_unit, in_words, kind_words

if TYPE_CHECKING:
    from bondloop.bondgraph import Part
    from bondloop.hybrid import Rehearsable

SUMMARY_LETTERS = 700
"""Letters of the sentence that describes a test; beyond, the description follows as a file."""

LISTED_ELEMENTS = 12
"""Elements of a specimen that are listed one by one."""

SPECIMEN = "rig.specimen."
"""What the names of the specimen's parameters begin with."""

SIGNALS = {"excitation": "excitation", "ground": "ground"}
OTHERS = {
    "controller": "controller",
    "scheme": "integrator",
    "integrator": "integrator",
    "switches": "switches",
    "interlock": "interlock",
}
"""Entries of a description that say what a test is made of, and what they are called."""

BELOW = {"actuators": "actuator", "drive": "drive", "coupler": "coupling", "sensors": "sensors"}
"""Entries of a rig that have a row of their own."""


def parts(
    description: Mapping[str, object],
    test: Rehearsable | None = None,
    units: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    """Return what a test is made of, as rows of two.

    Parameters
    ----------
    description
        Of the run.
    test
        The test, where it could be made again: it knows its elements.
    units
        Of the recorded channels, by name: what the excitation measures.

    Examples
    --------
    >>> parts({"cut": ["m2.right >> m3.left"], "integrator": {"integrator": "RK4"}, "rate": 1000.0})
    [('cut at', 'm2.right >> m3.left'), ('integrator', 'RK4')]
    >>> parts({"reference": True, "interlock": {"limits": {"force": 500.0, "velocity": None}, "stale": None}})
    [('interlock', 'limits force 500'), ('reference', 'the complete structure')]
    """
    return [(word, _bounded(text)) for word, text in _rows(description, test, units or {}) if text]


def _rows(
    description: Mapping[str, object], test: Rehearsable | None, units: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for key in ("structure", "numerical"):
        if description.get(key):
            word = "structure" if key == "structure" else "numerical half"
            yield word, _structure(description[key], None if test is None else test.structure)
    systems = description.get("systems")
    if isinstance(systems, Mapping):
        for name, system in systems.items():
            yield "system", f"{name}: {in_words(_without_empty(system))}"
    if description.get("cut"):
        cut = description["cut"]
        yield "cut at", ", ".join(map(str, cut)) if isinstance(cut, list) else in_words(_without_empty(cut))
    yield from _rig(description, test)
    for key, word in SIGNALS.items():
        signals = description.get(key)
        if isinstance(signals, Mapping):
            for name, signal in signals.items():
                unit = "m/s^2" if key == "ground" else units.get(name, "")
                yield word, f"{name}: {_signal(signal, unit)}"
    for key, word in OTHERS.items():
        part = _without_empty(description.get(key))
        if part:
            yield word, in_words(part)
    yield "reference", _reference(description.get("reference"), description.get("structure"))


def _signal(signal: object, unit: str) -> str:
    """Say a signal, and on which degrees of freedom it acts where it is said with it."""
    if isinstance(signal, list) and len(signal) == 2 and isinstance(signal[1], Mapping):
        loads = [f"{in_words(_without_empty(factor))} times on {dof}" for dof, factor in signal[1].items()]
        return f"{in_words(_without_empty(signal[0]), unit)}; {', '.join(loads) or 'on nothing'}"
    return in_words(_without_empty(signal), unit)


def _structure(description: object, model: Model | None) -> str:
    """Say what the structure is and what it is made of."""
    counted = "" if model is None else _counted(model)
    words = in_words(_without_empty(description), inside=bool(counted))
    if not counted:
        return words
    if not isinstance(description, Mapping) or description.get("model") != "Model":
        return f"{words}: {counted}"
    detail = f"; that is, {words}" if len(words) < SUMMARY_LETTERS // 2 else ""
    return f"{description.get('name') or 'model'}: {counted}{detail}"


def _counted(model: Model) -> str:
    """Say how many elements of which kind a model has, and how many degrees of freedom in fields.

    >>> from bondloop.papers import gawthrop_three_mass
    >>> _counted(gawthrop_three_mass.model())
    '3 masses, 3 dampers, 2 springs, 1 compliance given by a law, 1 source of flow'
    """
    counts: Counter[str] = Counter()
    freedoms = 0
    for _, part in model.walk():
        if isinstance(part, Field):
            freedoms = max(freedoms, part.size or 1)
        elif isinstance(part, Element) and (word := _word(part)):
            counts[word] += part.size or 1 if isinstance(part, (I, C, R)) else 1
    ranked = sorted(
        counts.items(), key=lambda pair: (pair[0].startswith("source"), -pair[1], pair[0] != "mass")
    )
    said = [f"{n} {word if n == 1 else _plural(word)}" for word, n in ranked]
    if freedoms:
        said.insert(0, f"{freedoms} degree{'' if freedoms == 1 else 's'} of freedom in matrices")
    return ", ".join(said)


def _word(part: Part) -> str:
    """Return what an element is, in a structural engineer's words where they fit."""
    if isinstance(part, OdeElement):
        return kind_words(type(part.law).__name__)
    if isinstance(part, (I, C, R)):
        name = part.coefficient[0] if part.coefficient is not None else ""
        mechanical = {"mass": "mass", "inertia": "rotary inertia", "stiffness": "spring", "damping": "damper"}
        kind = "inertia" if isinstance(part, I) else "compliance" if isinstance(part, C) else "resistor"
        return mechanical.get(name) or f"{kind} {f'({name})' if name else 'given by a law'}"
    if isinstance(part, (Se, MSe)):
        return "source of effort"
    if isinstance(part, (Sf, MSf)):
        return "source of flow"
    return kind_words(type(part).__name__) if isinstance(part, Multiport) else ""


def _plural(word: str) -> str:
    """Return several of what a word says.

    >>> _plural("mass"), _plural("rotary inertia"), _plural("source of flow"), _plural("MR damper")
    ('masses', 'rotary inertias', 'sources of flow', 'MR dampers')
    """
    head, of, rest = re.fullmatch(r"(.*?)( of .*| given .*| \(.*)?()", word).groups()  # type: ignore[union-attr]
    return f"{head}{'es' if head.endswith('s') else 's'}{of or ''}{rest}"


def _rig(description: Mapping[str, object], test: Rehearsable | None) -> Iterator[tuple[str, str]]:
    """Say what stood on the rig, what moved it and what measured it."""
    rig = _without_empty(description.get("rig"))
    if not rig:
        return
    note = "emulated rig, not in force" if other_rig(description) else ""
    if not isinstance(rig, Mapping):
        yield note or "rig", in_words(rig)
        return
    specimen = "" if test is None else _specimen(test)
    if specimen:
        yield "specimen", specimen
        rig = {key: value for key, value in rig.items() if key != "physical"}
    yield note or "rig", in_words({key: value for key, value in rig.items() if key not in BELOW})
    for key, word in BELOW.items():
        value = rig.get(key)
        several = isinstance(value, list) and key == "actuators"
        for number, one in enumerate(value if several else [value] if value else [], 1):
            yield f"{word} {number}" if several and len(value) > 1 else word, _nested_words(key, one)


def _nested_words(key: str, value: object) -> str:
    if key == "sensors" and isinstance(value, Mapping):
        return "; ".join(f"{name}: {_sensor(sensor)}" for name, sensor in value.items())
    return in_words(value)


def _sensor(sensor: object) -> str:
    """Say what is wrong with a sensor; its imperfections measure what it does."""
    unit = sensor.get("unit", "") if isinstance(sensor, Mapping) else ""
    faults = sensor.get("imperfections") if isinstance(sensor, Mapping) else None
    if not isinstance(faults, list) or not isinstance(unit, str):
        return in_words(sensor)
    return ", ".join(in_words(fault, unit).replace(":", "", 1) for fault in faults) or "exact"


def _specimen(test: Rehearsable) -> str:
    """Say of which elements the specimen is, with their values and units."""
    model = getattr(getattr(test, "rig", None), "physical", None)
    if not isinstance(model, Model):
        return ""
    try:
        parameters = dict(_parameters(test))
    except BondloopError:
        return ""
    elements = [(path, part) for path, part in model.walk() if isinstance(part, Element) and _word(part)]
    if not elements or len(elements) > LISTED_ELEMENTS:
        return _counted(model)
    said = []
    for path, part in elements:
        begin = f"{SPECIMEN}{path}."
        values = [
            f"{name.removeprefix(begin).replace('_', ' ')} {text}"
            for name, text in parameters.items()
            if name.startswith(begin)
        ]
        said.append(f"{_word(part)} '{path}'" + (f" ({', '.join(values)})" if values else ""))
    return "; ".join(said)


def _parameters(test: Rehearsable) -> Iterator[tuple[str, str]]:
    """Yield every parameter of the tick with its value and unit."""
    for variable, value in test.tick.parameters.items():
        if isinstance(value, (int, float)):
            yield variable.name, in_unit(float(value), variable.unit)


def units_of_parameters(test: Rehearsable | None) -> dict[str, str]:
    """Return the units of a test's parameters, by name; none where the test could not be made again."""
    if test is None:
        return {}
    try:
        return {v.name: v.quantity.unit for v in test.tick.parameters if v.quantity is not None}
    except BondloopError:
        return {}


def _reference(part: object, structure: object) -> str:
    """Say what the test is compared with, and where."""
    if not isinstance(part, Mapping):
        return "the complete structure" if part else ""
    other = part.get("of") if part.get("of") != structure else None
    whole = in_words(_without_empty(other)) if other else "the complete structure"
    outputs = part.get("outputs")
    return f"{whole}, compared at {in_words(outputs)}" if outputs else whole


def _bounded(text: str) -> str:
    if len(text) <= SUMMARY_LETTERS:
        return text
    return f"{text[:SUMMARY_LETTERS].rpartition(', ')[0]}, ... (in full below, as a file)"


def _without_empty(part: object) -> Any:
    """Return a description without the entries that say nothing."""
    if isinstance(part, Mapping):
        inner = {key: _without_empty(value) for key, value in part.items()}
        return {key: value for key, value in inner.items() if value is not None and value not in ({}, [])}
    return [_without_empty(value) for value in part] if isinstance(part, list) else part
