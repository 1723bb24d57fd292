"""What an FMU is and has, in FMI 2.0 and 3.0: its variables, and ``modelDescription.xml``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree as ET

from bondloop.errors import InputError
from bondloop.units import dimension, quantity

if TYPE_CHECKING:
    from bondloop.engine.data import Range
    from bondloop.engine.ir import Tick


Group = Literal["time", "input", "output", "parameter", "state"]

_ILLEGIBLE = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Variable:
    """One variable of an FMU.

    Parameters
    ----------
    name
        Its own: no other variable has it.
    path
        What it is called in the model; a channel that shows an input has the same as that.
    group
        ``"time"``, ``"input"``, ``"output"``, ``"parameter"`` or ``"state"``.
    reference
        Value reference: the place in the list.
    unit
        In SI, as text; empty where none is known.
    start
        First value; None of what is computed.
    least, most
        Bounds of a parameter.
    rate_of
        Value reference of the state of which it is the rate of change; None for all others.
    fixed
        Whether it is a parameter that is worked into matrices, and cannot be set.

    Examples
    --------
    >>> Variable("m.x", "m.x", "state", 3, "m", 0.0).unit
    'm'
    """

    name: str
    path: str
    group: Group
    reference: int
    unit: str = ""
    start: float | None = None
    least: float = -math.inf
    most: float = math.inf
    rate_of: int | None = None
    fixed: bool = False


def tick_variables(
    tick: Tick, tables: int = 0, rates: int = 0, starts: Mapping[str, float] | None = None
) -> list[Variable]:
    """Return the variables of a tick: the time, inputs, channels, parameters and states, in this order.

    What two groups call by one name (an input that is recorded, a state that is) keeps it in the first of
    them; in the later one its group goes before it: ``output.measured.force``.

    Parameters
    ----------
    tick
        The tick.
    tables
        So many first inputs are tabulated, and none of the variables.
    rates
        So many first channels are rates of as many states.
    starts
        First values of inputs by name; zero of those left out.

    Examples
    --------
    >>> from bondloop.engine.ir.expr import Var
    >>> from bondloop.engine.ir.tick import Channel, Tick
    >>> x, u = Var("x"), Var("u")
    >>> tick = Tick("demo", 0.1, Var("t"), Var("k"), (u,), {x: 1.0}, {}, (), (Channel("u", u),))
    >>> [(v.name, v.group) for v in tick_variables(tick)]
    [('time', 'time'), ('u', 'input'), ('output.u', 'output'), ('x', 'state')]
    """
    inputs = tick.inputs[tables:]
    first_state = 1 + len(inputs) + len(tick.channels) + len(tick.parameters)
    rows: list[tuple[Group, str, dict[str, Any]]] = [("time", "time", {"unit": "s"})]
    rows += [("input", v.name, {"unit": v.unit, "start": (starts or {}).get(v.name, 0.0)}) for v in inputs]
    rows += [
        ("output", c.name, {"unit": c.unit, "rate_of": first_state + i if i < rates else None})
        for i, c in enumerate(tick.channels)
    ]
    worked_in = tick.worked_in
    for v, value in tick.parameters.items():
        fixed = v.name in worked_in
        least, most = (value, value) if fixed else bounds_of(v.range)
        about = {"unit": v.unit, "start": value, "least": least, "most": most, "fixed": fixed}
        rows.append(("parameter", v.name, about))
    rows += [("state", v.name, {"unit": v.unit, "start": x}) for v, x in tick.states.items()]
    names = _distinct((group, name) for group, name, _ in rows)
    return [
        Variable(name, path, group, i, **about)
        for i, (name, (group, path, about)) in enumerate(zip(names, rows, strict=True))
    ]


def described(tick: Tick, tables: int = 0) -> dict[str, Any]:
    """Return what the C of a tick does not tell, fit for JSON: every variable with its name, place and unit.

    Parameters
    ----------
    tick
        The tick.
    tables
        So many first inputs are tabulated.
    """
    places = {"input": tables, "output": 0, "parameter": 0, "state": 0}
    groups: dict[str, list[dict[str, Any]]] = {group: [] for group in places}
    for v in tick_variables(tick, tables)[1:]:
        about: dict[str, Any] = {"name": v.name, "path": v.path, "index": places[v.group], "unit": v.unit}
        if v.start is not None and v.group != "input":
            about["value"] = v.start
        about |= {word: x for word, x in (("least", v.least), ("most", v.most)) if math.isfinite(x)}
        about |= {"fixed": True} if v.fixed else {}
        groups[v.group].append(about)
        places[v.group] += 1
    return {
        "tick": tick.name,
        "period": tick.period,
        "tables": [v.name for v in tick.inputs[:tables]],
        "inputs": groups["input"],
        "channels": groups["output"],
        "parameters": groups["parameter"],
        "states": groups["state"],
    }


def bounds_of(allowed: Range | None) -> tuple[float, float]:
    """Return the least and the greatest number of a range; next to a bound that itself is left out.

    Parameters
    ----------
    allowed
        The range; None for any number.

    Examples
    --------
    >>> from bondloop.engine.data.ranges import Range
    >>> bounds_of(Range(above=0, most=2.0))
    (5e-324, 2.0)
    """
    if allowed is None:
        return -math.inf, math.inf
    least = [-math.inf] if allowed.least is None else [allowed.least]
    most = [math.inf] if allowed.most is None else [allowed.most]
    if allowed.above is not None:
        least.append(math.nextafter(allowed.above, math.inf))
    if allowed.below is not None:
        most.append(math.nextafter(allowed.below, -math.inf))
    return max(least), min(most)


def legible(text: str) -> str:
    r"""Return a text without what XML and FMI forbid in names: control characters become ``\u000a``.

    Parameters
    ----------
    text
        Any.

    Examples
    --------
    >>> legible("a<b\n")
    'a<b\\u000a'
    """
    return _ILLEGIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) or "_"


def _distinct(named: Iterable[tuple[Group, str]]) -> Sequence[str]:
    taken: dict[str, None] = {}
    for group, path in named:
        name = legible(path)
        while name in taken:
            name = f"{group}.{name}"
        taken[name] = None
    return list(taken)


_BASE = ("kg", "m", "s", "A", "K")


@dataclass(frozen=True)
class About:
    """What an FMU says of itself, besides its variables.

    Parameters
    ----------
    name
        For people.
    identifier
        A C identifier: name of the binary.
    token
        GUID, or instantiation token.
    kind
        ``"CoSimulation"`` or ``"ModelExchange"``.
    period
        Seconds of a step in co-simulation.
    seconds
        Length of the experiment.
    sources
        Names of the C files.
    slopes
        Whether it has directional derivatives.
    """

    name: str
    identifier: str
    token: str
    kind: Literal["CoSimulation", "ModelExchange"]
    period: float
    seconds: float
    sources: Sequence[str]
    slopes: bool = False


def model_description(about: About, variables: Sequence[Variable], version: int) -> str:
    """Return the model description as text.

    Parameters
    ----------
    about
        What the FMU is.
    variables
        What it has.
    version
        Of FMI: 2 or 3.
    """
    import bondloop

    root = ET.Element(
        "fmiModelDescription",
        {
            "fmiVersion": "2.0" if version == 2 else "3.0",
            "modelName": legible(about.name),
            "guid" if version == 2 else "instantiationToken": about.token,
            "generationTool": f"bondloop {bondloop.__version__}",
            "variableNamingConvention": "flat",
        },
    )
    kind = ET.SubElement(root, about.kind, _capabilities(about, version))
    if version == 2:
        files = ET.SubElement(kind, "SourceFiles")
        for name in about.sources:
            ET.SubElement(files, "File", name=name)
    _units(root, variables)
    if version == 2:
        _log_categories(root)
    experiment = {"startTime": "0", "stopTime": _number(about.seconds)}
    if about.period:
        experiment["stepSize"] = _number(about.period)
    if version == 3:
        _log_categories(root)
    ET.SubElement(root, "DefaultExperiment", experiment)
    listed = ET.SubElement(root, "ModelVariables")
    for v in variables:
        _variable(listed, v, version)
    _structure(root, variables, version)
    return _text(root)


def build_description(about: About) -> str:
    """Return ``buildDescription.xml`` of FMI 3: which C files make the binary."""
    root = ET.Element("fmiBuildDescription", fmiVersion="3.0")
    build = ET.SubElement(root, "BuildConfiguration", modelIdentifier=about.identifier)
    files = ET.SubElement(build, "SourceFileSet", language="C99")
    for name in about.sources:
        ET.SubElement(files, "SourceFile", name=name)
    return _text(root)


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _number(x: float) -> str:
    return repr(float(x))


def _capabilities(about: About, version: int) -> dict[str, str]:
    state = "FMUstate" if version == 2 else "FMUState"
    found = {
        "modelIdentifier": about.identifier,
        "canBeInstantiatedOnlyOncePerProcess": "false",
        f"canGetAndSet{state}": "true",
        f"canSerialize{state}": "true",
    }
    if about.kind == "CoSimulation":
        found["canHandleVariableCommunicationStepSize"] = "false"
        if version == 3:
            found["fixedInternalStepSize"] = _number(about.period)
    if about.slopes:
        found["providesDirectionalDerivative" if version == 2 else "providesDirectionalDerivatives"] = "true"
    if about.kind == "ModelExchange":
        # Loops that are solved by iteration go on from the last step that was accepted.
        found["completedIntegratorStepNotNeeded" if version == 2 else "needsCompletedIntegratorStep"] = (
            "false" if version == 2 else "true"
        )
    return found


def _units(root: ET.Element, variables: Sequence[Variable]) -> None:
    units = sorted({v.unit for v in variables if v.unit})
    if not units:
        return
    listed = ET.SubElement(root, "UnitDefinitions")
    for unit in units:
        entry = ET.SubElement(listed, "Unit", name=legible(unit))
        try:
            powers, factor = dimension(f"1 {unit}"), quantity(f"1 {unit}")
        except InputError:  # a unit that only the model knows is named, and no more
            continue
        base = {name: str(n) for name, n in zip(_BASE, powers or (), strict=False) if n}
        if factor != 1:
            base["factor"] = _number(factor)
        ET.SubElement(entry, "BaseUnit", base)


def _log_categories(root: ET.Element) -> None:
    ET.SubElement(ET.SubElement(root, "LogCategories"), "Category", name="logStatusError")


def _variable(listed: ET.Element, v: Variable, version: int) -> None:
    common = {"name": v.name, "valueReference": str(v.reference)}
    if legible(v.path) != v.name:
        common["description"] = f"{v.group} {legible(v.path)}"
    common |= _causality(v)
    own: dict[str, str] = {}
    if v.unit:
        own["unit"] = legible(v.unit)
    if v.group == "parameter" and not v.fixed:
        own |= {word: _number(x) for word, x in (("min", v.least), ("max", v.most)) if math.isfinite(x)}
    if v.rate_of is not None:
        # FMI 2 counts variables from 1, FMI 3 takes the value reference.
        own["derivative"] = str(v.rate_of + 1 if version == 2 else v.rate_of)
    if v.start is not None:
        own["start"] = _number(v.start)
    if version == 2:
        ET.SubElement(ET.SubElement(listed, "ScalarVariable", common), "Real", own)
    else:
        ET.SubElement(listed, "Float64", common | own)


def _causality(v: Variable) -> dict[str, str]:
    if v.group == "time":
        return {"causality": "independent", "variability": "continuous"}
    if v.fixed:
        return {"causality": "local", "variability": "constant"}
    if v.group == "parameter":
        return {"causality": "parameter", "variability": "tunable"}
    if v.group == "state":
        return {"causality": "local", "variability": "continuous", "initial": "exact"}
    causality = "local" if v.rate_of is not None else v.group
    return {"causality": causality, "variability": "continuous"}


def _structure(root: ET.Element, variables: Sequence[Variable], version: int) -> None:
    structure = ET.SubElement(root, "ModelStructure")
    outputs = [v for v in variables if v.group == "output" and v.rate_of is None]
    rates = [v for v in variables if v.rate_of is not None]
    groups = [("Outputs", "Output", outputs), ("Derivatives", "ContinuousStateDerivative", rates)]
    groups.append(
        ("InitialUnknowns", "InitialUnknown", sorted([*outputs, *rates], key=lambda v: v.reference))
    )
    for folder, entry, found in groups:
        if not found:
            continue
        listed = ET.SubElement(structure, folder) if version == 2 else structure
        for v in found:
            if version == 2:
                ET.SubElement(listed, "Unknown", index=str(v.reference + 1))
            else:
                ET.SubElement(listed, entry, valueReference=str(v.reference))
