"""FMUs of others: unpacked with care, described, and bound to a program that runs them.

An FMU is a program. Reading one executes nothing; binding one and running it gives its native code the rights
of whoever runs it.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import re
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote
from xml.etree import ElementTree as ET

from bondloop.engine.codegen import cache_folder, compiler, load, private
from bondloop.engine.ir import Call
from bondloop.errors import CompileError, InputError, unknown_name
from bondloop.fmu.export import binary_folder
from bondloop.units import dimension, is_of_kind, quantity, si_unit

if TYPE_CHECKING:
    from bondloop.engine.ir import Expr


Causality = Literal["input", "output", "parameter", "other"]


@dataclass(frozen=True)
class ForeignVariable:
    """A variable of an FMU.

    Parameters
    ----------
    name
        As the FMU calls it.
    reference
        Value reference.
    causality
        ``"input"``, ``"output"``, ``"parameter"`` or ``"other"``.
    real
        Whether it is one number with double precision: only such can be connected.
    unit
        As the FMU calls it; empty where it does not tell.
    base
        What that unit is by the FMU's own definition: powers of kg, m, s, A and K, factor and offset; None
        where the FMU does not define it.

    Examples
    --------
    >>> ForeignVariable("F", 3, "output", True, "N").unit
    'N'
    """

    name: str
    reference: int
    causality: Causality
    real: bool
    unit: str = ""
    base: tuple[tuple[int, ...], float, float] | None = None


@dataclass(frozen=True, repr=False)
class ForeignFmu:
    """An FMU for co-simulation, unpacked on this machine.

    Parameters
    ----------
    path
        Of the file.
    folder
        Where it is unpacked.
    version
        Of FMI: 2 or 3.
    name
        As it calls itself.
    identifier
        Name of its binary.
    token
        GUID, or instantiation token.
    variables
        By name.

    Examples
    --------
    >>> import tempfile
    >>> from bondloop.papers import gawthrop_two_actuators
    >>> path = Path(tempfile.mkdtemp()) / "rig.fmu"
    >>> fmu = read_fmu(gawthrop_two_actuators.test().write_fmu(path, half="rig", binary=False))
    >>> fmu.version, fmu.find("command[0]", "input").reference
    (3, 1)
    """

    path: Path
    folder: Path
    version: int
    name: str
    identifier: str
    token: str
    variables: Mapping[str, ForeignVariable]

    def __repr__(self) -> str:
        return f"<ForeignFmu {self.name!r}, FMI {self.version}: {len(self.variables)} variables>"

    def find(self, name: str, causality: Causality, unit: str = "", *, si: bool = False) -> ForeignVariable:
        """Return a variable that can be connected; refuse one that is not there, or measures something else.

        Parameters
        ----------
        name
            As the FMU calls it.
        causality
            What it must be.
        unit
            What it must measure, in SI; empty for anything.
        si
            Whether it must be in SI units, whatever it measures.
        """
        fitting = [v.name for v in self.variables.values() if v.causality == causality and v.real]
        if name not in self.variables:
            raise InputError(unknown_name(causality, name, fitting, where=self.path.name))
        found = self.variables[name]
        if found.causality != causality or not found.real:
            what = "no real number" if not found.real else f"no {causality}"
            raise InputError(
                f"{self.path.name}: '{name}' is {what}; known: {', '.join(fitting[:12]) or 'none'}"
            )
        _expect_unit(f"{self.path.name}: '{name}'", found, unit)
        if si:
            _expect_si(f"{self.path.name}: '{name}'", found)
        return found

    @property
    def binary(self) -> Path:
        """Return the binary for this platform; an error says which there are."""
        if sys.platform != "linux":
            raise InputError(f"{self.path.name}: FMUs are run on Linux only; found {sys.platform}")
        folder = self.folder / "binaries" / binary_folder(self.version)
        found = folder / f"{self.identifier}.so"
        if not found.is_file():
            there = self.folder / "binaries"
            names = sorted(p.name for p in there.iterdir()) if there.is_dir() else []
            raise InputError(
                f"{self.path.name}: it has no binary for this platform "
                f"({folder.name}/{self.identifier}.so); it has "
                f"{', '.join(names) or 'none, only sources perhaps'}"
            )
        return found

    def host_c(
        self,
        inputs: Sequence[ForeignVariable],
        outputs: Sequence[ForeignVariable],
        period: float = 0.0,
        parameters: Mapping[str, float] | None = None,
    ) -> str:
        """Return C that runs the FMU, with the given variables connected; all of it static.

        Parameters
        ----------
        inputs, outputs
            In the order in which they are given and taken.
        period
            Of a step, in s, where that is known beforehand.
        parameters
            Values by name that are set before the initialisation.
        """
        twice = [v.name for k, v in enumerate(inputs) if v.reference in [u.reference for u in inputs[:k]]]
        if twice:
            raise InputError(
                f"{self.path.name}: the input '{twice[0]}' is connected twice, and the second would overrule "
                "the first; give each its own"
            )
        chosen = {
            self.find(name, "parameter"): self._value(name, x) for name, x in (parameters or {}).items()
        }
        place = f"{self.folder}{os.sep}resources"
        location = f"file://{quote(place)}" if self.version == 2 else f"{place}{os.sep}"
        words = {
            "NAME": _c_text(self.path.name),
            "VERSION": self.version,
            "LIBRARY": _c_text(str(self.binary)),
            "TOKEN": _c_text(self.token),
            "RESOURCES": _c_text(location),
            "PERIOD": repr(float(period)),
            "INPUTS": len(inputs),
            "OUTPUTS": len(outputs),
            "PARAMETERS": len(chosen),
        }
        lines = [f"#define HOST_{word} {value}" for word, value in words.items()]
        for word, found in (("inputs", inputs), ("outputs", outputs), ("parameters", list(chosen))):
            numbers = ", ".join(str(v.reference) for v in found) or "0"
            lines.append(f"static const unsigned host_{word}[] = {{{numbers}}};")
        values = ", ".join(map(repr, chosen.values())) or "0.0"
        lines.append(f"static const double host_values[] = {{{values}}};")
        text = (resources.files(__package__) / "c" / "host.c").read_text(encoding="utf-8")
        return "\n".join([*lines, text])

    def _value(self, name: str, value: object) -> float:
        if isinstance(value, (int, float)) and math.isfinite(value):
            return float(value)
        unit = self.variables[name].unit
        raise InputError(
            f"{self.path.name}: parameter '{name}': expected a finite number"
            f"{f', in {unit} as the FMU has it' if unit else ''}; found {value!r:.40}"
        )


def read_fmu(path: str | os.PathLike[str]) -> ForeignFmu:
    """Unpack and read an FMU for co-simulation, FMI 2.0 or 3.0; nothing of it is executed.

    Parameters
    ----------
    path
        Of the file.
    """
    path = Path(path)
    folder = unpacked(path)
    file = folder / "modelDescription.xml"
    if not file.is_file():
        raise InputError(f"{path.name}: there is no modelDescription.xml in it, so it is no FMU")
    text = file.read_bytes()
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        raise InputError(f"{path.name}: its modelDescription.xml defines a document type, which no FMU needs")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without a document type there are no entities
    except (ET.ParseError, ValueError, LookupError) as error:
        raise InputError(f"{path.name}: modelDescription.xml is no XML: {error}") from None
    said = root.get("fmiVersion", "")
    version = {"2": 2, "3": 3}.get(said.partition(".")[0])
    if root.tag != "fmiModelDescription" or version is None:
        raise InputError(f"{path.name}: expected an FMU of FMI 2.0 or 3.0; found version '{said:.20}'")
    kind = root.find("CoSimulation")
    if kind is None:
        raise InputError(f"{path.name}: it is not for co-simulation, so nobody here could integrate it")
    identifier = kind.get("modelIdentifier", "")
    if not re.fullmatch(r"[A-Za-z_]\w*", identifier, re.ASCII):
        raise InputError(f"{path.name}: its modelIdentifier is no C identifier: '{identifier:.40}'")
    token = root.get("guid" if version == 2 else "instantiationToken")
    if token is None:
        raise InputError(f"{path.name}: it has no {'guid' if version == 2 else 'instantiationToken'}")
    variables = _variables(root, version, path.name)
    return ForeignFmu(path, folder, version, root.get("modelName", path.stem), identifier, token, variables)


def _variables(root: ET.Element, version: int, where: str) -> dict[str, ForeignVariable]:
    listed = root.find("ModelVariables")
    units, typed = _units(root), _typed(root, version)
    found: dict[str, ForeignVariable] = {}
    for entry in [] if listed is None else listed:
        name, reference = entry.get("name", ""), entry.get("valueReference", "")
        if not re.fullmatch(r"\d{1,10}", reference) or int(reference) >= 2**32:
            raise InputError(
                f"{where}: variable '{name:.60}' has no value reference; found '{reference:.20}'"
            )
        own = entry.find("Real") if version == 2 else entry
        real = own is not None and (
            version == 2 or (entry.tag == "Float64" and entry.find("Dimension") is None)
        )
        causality = entry.get("causality", "local")
        group: Causality = causality if causality in ("input", "output", "parameter") else "other"  # type: ignore[assignment]
        unit = "" if own is None else own.get("unit") or typed.get(own.get("declaredType", ""), "")
        found[name] = ForeignVariable(name, int(reference), group, real, unit, units.get(unit))
    return found


def _typed(root: ET.Element, version: int) -> dict[str, str]:
    """Return the units of declared types, by the names of these: Modelica's tools say them there."""
    path = "TypeDefinitions/SimpleType" if version == 2 else "TypeDefinitions/Float64Type"
    types = [(t.get("name", ""), t.find("Real") if version == 2 else t) for t in root.iterfind(path)]
    return {name: own.get("unit", "") for name, own in types if own is not None}


def _units(root: ET.Element) -> dict[str, tuple[tuple[int, ...], float, float]]:
    """Return what the FMU defines its units to be, by their names."""
    found = {}
    for unit in root.iterfind("UnitDefinitions/Unit"):
        base = unit.find("BaseUnit")
        if base is None:
            continue
        try:
            powers = tuple(int(base.get(word, "0")) for word in ("kg", "m", "s", "A", "K"))
            size = powers, float(base.get("factor", "1")), float(base.get("offset", "0"))
        except ValueError:
            continue
        found[unit.get("name", "")] = size
    return found


def _expect_unit(what: str, variable: ForeignVariable, wanted: str) -> None:
    """Refuse a unit that measures something else, or the same in other steps; take one that is not known.

    What the FMU defines its unit to be counts before what the unit is called.
    """
    unit = variable.unit
    if not unit or not wanted:
        return
    try:
        if variable.base is not None:
            powers, size, offset = variable.base
            same = offset == 0 and powers == (dimension(f"1 {wanted}") or (0,) * 5)
            size /= quantity(f"1 {wanted}")
        else:
            same = is_of_kind(f"1 {unit}", wanted)
            size = quantity(f"1 {unit}") / quantity(f"1 {wanted}")
    except InputError:
        return
    if not same or not math.isclose(size, 1.0, rel_tol=1e-9):
        raise InputError(f"{what} is in {unit}; expected {wanted}: put a conversion into the FMU")


def _expect_si(what: str, variable: ForeignVariable) -> None:
    """Refuse a unit that is not of SI, by the FMU's definition or by its name; take one that is not known."""
    unit = variable.unit
    if not unit:
        return
    try:
        size, wanted = quantity(f"1 {unit}"), si_unit(unit)
    except InputError:
        size, wanted = 1.0, ""
    offset = 0.0
    if variable.base is not None:
        _, size, offset = variable.base
    if offset != 0 or not math.isclose(size, 1.0, rel_tol=1e-9):
        wanted = wanted if wanted != unit else ""
        raise InputError(
            f"{what} is in {unit}; expected {wanted or 'a unit of SI'}: put a conversion into the FMU"
        )


def _c_text(text: str) -> str:
    escaped = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
        for b in text.encode(errors="surrogateescape")
    )
    return f'"{escaped}"'


def unpacked(path: Path, most_bytes: int = 1 << 30, most_files: int = 20_000) -> Path:
    """Return the folder of an FMU's files, kept by content beside what was compiled.

    Parameters
    ----------
    path
        Of the FMU. Entries that would be written elsewhere, and links, are refused.
    most_bytes, most_files
        Of all its files, unpacked; what has more is refused.
    """
    if not path.is_file():
        raise InputError(f"there is no FMU {path}")
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]
        place = private(cache_folder()) / "fmu" / digest
        if place.is_dir():
            return place
        place.parent.mkdir(mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="unpacking-", dir=place.parent) as scratch:
            made = Path(scratch) / "fmu"
            made.mkdir()
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, made, path.name, most_bytes, most_files)
            try:
                made.rename(place)
            except OSError:
                if not place.is_dir():  # unless another process was faster
                    raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise InputError(f"{path.name}: it is no zip that can be read: {error}") from None
    except OSError as error:
        raise InputError(f"{path.name}: it cannot be unpacked: {error.strerror or error}") from None
    return place


def _unpack(archive: zipfile.ZipFile, folder: Path, name: str, most_bytes: int, most_files: int) -> None:
    entries = archive.infolist()
    if len(entries) > most_files:
        raise InputError(f"{name}: it has {len(entries):,} files; at most {most_files:,} are unpacked")
    left = most_bytes
    for entry in entries:
        target = _place(entry, folder, name)
        if entry.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as file:
            while part := source.read(1 << 20):  # what the entry says of its size is not believed
                left -= len(part)
                if left < 0:
                    raise InputError(
                        f"{name}: its files are larger than {most_bytes >> 20:,} MB; it is refused"
                    )
                file.write(part)


def _place(entry: zipfile.ZipInfo, folder: Path, name: str) -> Path:
    """Return where an entry goes; refuse what leads out of the folder, and what is no plain file."""
    said = entry.orig_filename
    parts = PurePosixPath(said).parts
    bad = not parts or said.startswith("/") or "\\" in said or "\0" in said or ".." in parts
    if bad or re.match(r"[A-Za-z]:", said):
        raise InputError(f"{name}: the entry {said!r:.80} does not lie in the FMU; it is refused")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InputError(f"{name}: the entry {said!r:.80} is a link or a device; it is refused")
    target = folder.joinpath(*parts)
    if os.path.commonpath([folder, target]) != str(folder) or target.exists() != target.is_dir():
        raise InputError(f"{name}: the entry {said!r:.80} is there twice; it is refused")
    return target


_OWN = re.compile(r"\b(?:host|HOST|in_tick)(?:_\w+)?\b")
"""Names of the C that runs an FMU."""

_MESSAGE = """
__attribute__((visibility("default"))) const char *host_message(void)
{
    return host_DIGEST.message;
}
"""


class ForeignStep:
    """One FMU that takes a step in every tick.

    At tick n its inputs are set and its outputs read, at one instant; then the inputs are held until the
    next. A run begins with its initialisation. There is one instance in a process.

    Parameters
    ----------
    fmu
        The FMU.
    inputs, outputs
        The variables that are connected, in order.
    parameters
        Values by name that are set before the initialisation.
    """

    def __init__(
        self,
        fmu: ForeignFmu,
        inputs: Sequence[ForeignVariable],
        outputs: Sequence[ForeignVariable],
        parameters: Mapping[str, float] | None = None,
    ) -> None:
        self.fmu, self.inputs, self.outputs = fmu, tuple(inputs), tuple(outputs)
        own = (resources.files(__package__) / "c" / "in_tick.c").read_text(encoding="utf-8")
        body = f"{fmu.host_c(inputs, outputs, 0.0, parameters)}\n{own}"
        digest = hashlib.sha256(body.encode()).hexdigest()[:12]
        self.name = f"fmu_{digest}"
        body += "".join(self._function(i) for i in range(len(self.outputs)))
        # A tick may have two of them, and all of this is one file.
        self.source = _OWN.sub(lambda found: f"{found[0]}_{digest}", body)
        self._digest = digest
        self._library: ctypes.CDLL | None = None

    def __deepcopy__(self, memo: dict[int, object]) -> ForeignStep:
        """Return itself: a model may be copied, a running program may not."""
        return self

    def _function(self, i: int) -> str:
        given = "".join(f", double u{j}" for j in range(len(self.inputs)))
        listed = ", ".join(f"u{j}" for j in range(len(self.inputs))) or "0.0"
        return (
            '\n__attribute__((visibility("default")))\n'
            f"double {self.name}_{i}(double n, double t{given})\n{{\n"
            f"    const double inputs[] = {{{listed}}};\n"
            f"    return in_tick_output({i}, n, t, inputs);\n}}\n"
        )

    def calls(self, number: Expr, time: Expr, inputs: Sequence[Expr]) -> list[Call]:
        """Return the outputs as expressions.

        Parameters
        ----------
        number, time
            Of the tick; the number counts from 0.
        inputs
            What the inputs are at this instant.
        """
        arguments = (number, time, *inputs)
        return [
            Call(f"{self.name}_{i}", self._asked(i), arguments, self.source) for i in range(len(self.outputs))
        ]

    def _asked(self, i: int) -> Callable[..., float]:
        def ask(*arguments: float) -> float:
            value = float(self._loaded(i)(*arguments))
            if math.isnan(value):
                raise InputError(f"{self.message} (at t = {arguments[1]:.6g} s)")
            return value

        ask.__qualname__ = f"the FMU {self.fmu.path.name}"
        return ask

    @property
    def message(self) -> str:
        """What went wrong, in the words of the FMU's host."""
        message: Any = self._open().host_message
        message.restype = ctypes.c_char_p
        return (message() or b"").decode(
            errors="replace"
        ) or f"{self.fmu.path.name}: an output is not a number"

    def first(self, inputs: Sequence[float] = ()) -> list[float]:
        """Initialise the FMU and return its outputs at t = 0; this runs its code.

        Parameters
        ----------
        inputs
            What the inputs are; zero if not given.
        """
        given = [*inputs] or [0.0] * len(self.inputs)
        return [self._asked(i)(0.0, 0.0, *given) for i in range(len(self.outputs))]

    def _open(self) -> ctypes.CDLL:
        if self._library is None:
            using = compiler()
            if using is None:
                raise CompileError("no C compiler found ($CC, cc, gcc, clang), which an FMU in a test needs")
            said = _MESSAGE.replace("DIGEST", self._digest)
            self._library = load(self.source + said, self.name, using, entry="0")
        return self._library

    def _loaded(self, i: int) -> Any:
        function: Any = getattr(self._open(), f"{self.name}_{i}")
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * (2 + len(self.inputs))
        return function
