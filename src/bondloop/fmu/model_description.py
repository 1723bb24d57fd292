"""``modelDescription.xml``: what an FMU is and has, in FMI 2.0 and 3.0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

from bondloop.errors import InputError
from bondloop.fmu.variables import Variable, legible
from bondloop.units import dimension, quantity

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
