"""What `--set` changes of limits and interlock: ``limits.force=2 kN``, ``interlock.limits.command=20 mm``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bondloop.cli.quantities import whole
from bondloop.errors import InputError, unknown_name
from bondloop.safety import Interlock, Limits, PowerTrip, safety_from

if TYPE_CHECKING:
    from bondloop.hybrid import HybridTest


_LIMITS = tuple(f.name for f in fields(Limits))
_POWER = tuple(f.name for f in fields(PowerTrip))
_PARTS = {"limits": _LIMITS, "power": _POWER}
_COUNTS = ("stale", "deadline")
_PLAIN = tuple(f.name for f in fields(Interlock) if f.name not in _PARTS)


def is_of_safety(path: str) -> bool:
    """Whether a setting is one of limits or interlock.

    >>> is_of_safety("limits.force"), is_of_safety("rig.latency")
    (True, False)
    """
    return path.partition(".")[0] in ("limits", "interlock") and "." in path


def with_safety(test: HybridTest, settings: Mapping[str, str]) -> HybridTest:
    """Return a test with other limits, or another interlock; one is made where there is none.

    Parameters
    ----------
    test
        The test.
    settings
        Values as texts, by path: those for which `is_of_safety` holds.
    """
    limits = {path.partition(".")[2]: text for path, text in settings.items() if path.startswith("limits.")}
    inner = {path.partition(".")[2]: text for path, text in settings.items() if path.startswith("interlock.")}
    changes: dict[str, object] = {}
    for name in limits:
        if name not in _LIMITS:
            raise InputError(unknown_name("limit", name, _LIMITS))
    if limits and not hasattr(test, "limits"):
        raise InputError("this test has no limits to set")
    if limits:
        kept = {} if test.limits is None else test.limits.describe()
        changes["limits"] = Limits(**{**kept, **limits})
    if inner and not hasattr(test, "interlock"):
        raise InputError("this test has no interlock to set")
    if inner:
        changes["interlock"] = _interlock(test.interlock or Interlock(), inner)
    return test.replaced(**changes) if changes else test


def _interlock(kept: Interlock, settings: Mapping[str, str]) -> Interlock:
    described: dict[str, Any] = kept.describe()
    for path, text in settings.items():
        word, _, rest = path.partition(".")
        if path == "power":  # its threshold
            word, rest = "power", "threshold"
        if rest and rest in _PARTS.get(word, ()):
            own = described[word] or {"safety": "PowerTrip"}
            described[word] = {**own, rest: text}
        elif path in _COUNTS:
            described[path] = _count(path, text)
        elif path in _PLAIN:
            described[path] = text
        else:
            known = [*_PLAIN, *(f"{part}.{name}" for part, names in _PARTS.items() for name in names)]
            raise InputError(unknown_name("setting", path, known, where="the interlock"))
    made = safety_from(described)
    assert isinstance(made, Interlock)
    return made


def _count(path: str, text: str) -> int:
    try:
        return whole(text)
    except ValueError:
        raise InputError(f"interlock.{path}: expected a whole number; found {text!r}") from None
