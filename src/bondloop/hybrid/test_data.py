"""Tests from data: every argument of the constructor, as `HybridTest.describe` gives it.

Of a hybrid test whose halves come from one cut, the whole structure is described once, with the cut::

    {"test": "HybridTest", "structure": {...}, "cut": ["m2.right >> m3.left"], "rig": {...}, ...}

The rig then has no entry ``physical``, and a complete model run beside the test none that says which.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bondloop.bondgraph import Model
from bondloop.engine.data import FAILED, Kind, Place, Reader, register, types_of
from bondloop.errors import BondloopError, nearest, unknown_name
from bondloop.hybrid.energies import ENERGIES
from bondloop.hybrid.pseudo_dynamic import PseudoDynamicTest
from bondloop.hybrid.simulation import Simulation
from bondloop.hybrid.structure_readings import EVERYTHING, chosen
from bondloop.hybrid.test import HybridTest
from bondloop.hybrid.wiring import recorded, structures_of
from bondloop.safety import FORCE_SWITCH
from bondloop.substructure import numerical_half

CHANNELS = frozenset(
    {"desired", "actual", "measured", "force", "command", "synchronisation", "excitation", "controller"}
)
"""First words of channels that are recorded anyway, or that the tick alone knows."""

CUT = ("bonds", "physical")
"""What a cut that is a table may hold."""


# ---------------------------------------------------------------------- back


def read_test(reader: Reader, data: Mapping[str, object]) -> Any:
    """Return the test of a description; `FAILED` where there are faults, which the reader has then."""
    entries = dict(data)
    name = entries.pop("test", "HybridTest")
    kind = reader.find_kind("test", name, ()) if isinstance(name, str) else None
    if kind is None:
        return (
            FAILED if isinstance(name, str) else reader.fault(("test",), f"expected a text; found {name!r}")
        )
    if kind.name == "HybridTest":
        _refuse_unknown(reader, entries, kind)
        _unfold_halves(reader, entries)
    before = len(reader.faults)
    test = reader.make(kind, entries, ())
    if test is FAILED and kind.name == "HybridTest":
        _check_inputs(reader, entries)
    if any(fault.place[:1] == ("values",) for fault in reader.faults[before:]):
        test = _check_values(reader, kind, entries)
    if isinstance(test, HybridTest):
        _check_record(reader, test)
    _check_reference(reader, test, entries.get("reference"))
    return test if len(reader.faults) == before else FAILED


def _refuse_unknown(reader: Reader, entries: dict[str, object], kind: Kind) -> None:
    """Refuse entries that a file with a hybrid test does not have; what they may stand for is not missed."""
    known = parameters_of_file(kind)
    needed = {n for n, p in known.items() if p.default is p.empty} | {"structure", "cut"}
    missing = [n for n in known if n in needed and n not in entries]
    for name in [n for n in entries if n not in known]:
        reader.fault((name,), unknown_name("entry", name, [*known, "seconds"], where="a test"))
        del entries[name]
        for near in nearest(name, missing)[:1]:
            entries[near] = FAILED
            missing.remove(near)


def _unfold_halves(reader: Reader, entries: dict[str, Any]) -> None:
    """Make structure and halves, and put them where the constructors expect them."""
    if "structure" not in entries:
        if "numerical" not in entries:
            reader.fault((), "a test needs a structure and its cut, or a numerical half")
            entries["numerical"] = FAILED
        if "cut" in entries:
            reader.fault(("cut",), "there is no structure to cut; give one")
            del entries["cut"]
        whole: Any = FAILED
    else:
        whole = reader.value(entries.pop("structure"), Model, ("structure",))
        halves = _halves(reader, whole, entries.pop("cut", None))
        if "numerical" in entries:
            reader.fault(("numerical",), "the numerical half follows from structure and cut; leave one out")
        entries["numerical"] = halves[0]
        rig = entries.get("rig")
        if isinstance(rig, str):
            rig = {"rig": rig}
        if isinstance(rig, Mapping) and "physical" not in rig:
            entries["rig"] = {**rig, "physical": halves[1]}
    if isinstance(entries.get("reference"), Mapping):
        entries["reference"] = _reference(reader, entries["reference"], whole)


def _halves(reader: Reader, whole: object, cut: object) -> tuple[Any, Any]:
    place: Place = ("cut",)
    bonds, physical = (cut.get("bonds"), cut.get("physical")) if isinstance(cut, Mapping) else (cut, None)
    bonds = [bonds] if isinstance(bonds, str) else bonds
    if isinstance(cut, Mapping):
        before = len(reader.faults)
        for name in [n for n in cut if n not in CUT]:
            reader.fault((*place, name), unknown_name("entry", name, CUT, where="cut"))
        if not isinstance(physical, (str, type(None))):
            message = f"expected the path of a part, such as 'm3'; found {physical!r:.60}"
            reader.fault((*place, "physical"), message)
        if len(reader.faults) > before:
            return FAILED, FAILED
    if cut is FAILED:
        return FAILED, FAILED
    if cut is None:
        reader.fault(place, 'a test of a structure needs the bonds that its halves share: cut = "m2 >> m3"')
        return FAILED, FAILED
    if not isinstance(bonds, Sequence) or not bonds or not all(isinstance(b, str) for b in bonds):
        reader.fault(place, f"expected bonds such as 'm2.right >> m3.left'; found {cut!r}")
    elif isinstance(whole, Model):
        try:
            return whole.cut(*bonds, physical=physical)
        except BondloopError as error:
            reader.fault(place, str(error))
    elif whole is not FAILED:  # cannot be, a Python file may give anything
        reader.fault(("structure",), f"expected a model; found {whole!r:.60}")
    return FAILED, FAILED


def _reference(reader: Reader, data: Mapping[str, object], whole: object) -> object:
    for name in data:
        if name not in ("of", "outputs"):
            reader.fault(
                ("reference", name), unknown_name("entry", name, ["of", "outputs"], where="reference")
            )
    model = reader.value(data["of"], Model, ("reference", "of")) if "of" in data else whole
    outputs = data.get("outputs")
    if model is FAILED:
        return FAILED
    return model if outputs is None else (model, reader.value(outputs, list[str], ("reference", "outputs")))


def _check_inputs(reader: Reader, entries: Mapping[str, object]) -> None:
    """Look for excitations of inputs that there are none of, where other faults have hidden them."""
    excitation, numerical = entries.get("excitation"), entries.get("numerical")
    if not isinstance(excitation, Mapping) or not isinstance(numerical, Model):
        return
    try:
        half = numerical_half(numerical, "")
    except BondloopError:
        return
    known = [u.name for u in half.excitations if u.name != FORCE_SWITCH]
    said = " ".join(fault.message for fault in reader.faults)
    for name in excitation:
        if name not in known and f"unknown input '{name}'" not in said:
            message = unknown_name("input", name, known, where="the numerical half")
            reader.fault(("excitation", name), message)


def _check_values(reader: Reader, kind: Kind, entries: Mapping[str, object]) -> Any:
    """Look at every value by itself, after one has been refused; return the test without any."""
    values = entries["values"]
    known = {fault.place for fault in reader.faults}
    for path, value in values.items() if isinstance(values, Mapping) else ():
        alone = Reader(reader.find, reader.folder)
        alone.make(kind, {**entries, "values": {path: value}}, ())
        reader.faults += [fault for fault in alone.faults if fault.place not in known]
    return Reader(reader.find, reader.folder).make(kind, {**entries, "values": {}}, ())


def _check_reference(reader: Reader, test: object, reference: object) -> None:
    """Look for outputs of the complete model that it does not have, unless the test has them all."""
    if not isinstance(reference, tuple) or not isinstance(reference[0], Model) or reference[1] is FAILED:
        return
    try:
        if isinstance(test, HybridTest) and test.reference_system is not None:
            return
    except BondloopError:
        pass
    model, outputs = reference
    own = Reader()
    system = own.attempt(("reference",), model.compile)
    for i, path in enumerate(outputs if system is not FAILED else ()):
        own.attempt(("reference", "outputs", i), partial(system.expression, path))
    said = {fault.message for fault in own.faults}  # without its place, where the test stumbled over it
    reader.faults = [fault for fault in reader.faults if fault.place or fault.message not in said]
    reader.faults += own.faults


def _check_record(reader: Reader, test: HybridTest) -> None:
    """Look for what is to be recorded and is not there; a test that cannot be built is the check's affair."""
    try:
        _ = test.record and (test.design, test.rig_system, test.reference_system)
    except Exception:  # noqa: BLE001 - a part of the user's may raise anything
        return
    for i, path in enumerate(test.record):
        if EVERYTHING in path:
            reader.attempt(("record", i), partial(chosen, [path], structures_of(test), list(ENERGIES)))
        elif path not in ENERGIES and path.partition(".")[0] not in CHANNELS:
            reader.attempt(("record", i), partial(recorded, test, path))


def _register() -> None:
    for test in (HybridTest, PseudoDynamicTest, Simulation):
        register(Kind("test", test.__name__, test))


_register()


def parameters_of_file(kind: Kind) -> dict[str, inspect.Parameter]:
    """Return what a file with a test of a kind may hold: of a hybrid test, its structure and cut too."""
    parameters = dict(kind.parameters)
    if kind.make is not HybridTest:
        return parameters
    make = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY, default=None)
    parameters["numerical"] = parameters["numerical"].replace(default=None)
    return {"structure": make("structure"), "cut": make("cut"), **parameters}


def types_of_file(kind: Kind) -> dict[str, Any]:
    """Return the types of what a file with a test of a kind may hold."""
    more = {"structure": Model, "cut": Sequence[str] | str} if kind.make is HybridTest else {}
    return {**more, **types_of(kind)}
