"""Whether the parts that a test is given are of the right kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from bondloop.errors import InputError
from bondloop.units import is_of_kind

if TYPE_CHECKING:
    from bondloop.bondgraph.domain import Domain
    from bondloop.safety.limits import Limits

__all__ = ["expect", "expect_limits_of", "expect_signals", "refuse_arguments_of_parts"]


def expect(value: Any, kinds: type | tuple[type, ...], what: str, example: str) -> None:
    """Refuse a part of the wrong kind, in words.

    Parameters
    ----------
    value
        The part.
    kinds
        Classes, one of which it must be of.
    what
        The argument's name.
    example
        What to give, for the message.

    Examples
    --------
    >>> expect("direct", dict, "controller", "control.Direct()")
    Traceback (most recent call last):
    bondloop.errors.InputError: controller: expected control.Direct(), or another of its kind; found 'direct'
    """
    if isinstance(value, kinds):
        return
    if isinstance(value, type) and issubclass(value, kinds):
        raise InputError(f"{what}: found the class {value.__name__}; make one of it: {value.__name__}(...)")
    raise InputError(f"{what}: expected {example}, or another of its kind; found {value!r:.60}")


def expect_signals(excitation: Any) -> None:
    """Refuse an excitation that is not signals by name."""
    if not isinstance(excitation, Mapping):
        raise InputError(
            "excitation: expected signals by the name of what they drive, such as {'force': "
            f"bondloop.signals.Sine(...)}}, or {{}} for none; found {excitation!r:.60}"
        )


def expect_limits_of(domains: Sequence[Domain], limits: Limits | None, where: str = "limits") -> None:
    """Refuse limits whose unit none of the interfaces has: millimetres where it turns.

    Parameters
    ----------
    domains
        Of the interfaces.
    limits
        Those of the test, or of its interlock; plain numbers are in SI, whatever they measure.
    where
        Which ones, for the message.
    """
    for name, text in (limits.texts if limits is not None else {}).items():
        units = {
            "displacement": [d.displacement.unit for d in domains],
            "tracking_error": [d.displacement.unit for d in domains],
            "velocity": [d.flow.unit for d in domains],
            "force": [d.effort.unit for d in domains],
        }.get(name)
        if units and not any(not unit or is_of_kind(text, unit) for unit in units):
            kinds = " or ".join(dict.fromkeys(d.name for d in domains))
            raise InputError(
                f"{where}.{name}: found '{text}', but what is tested is in {kinds}; expected a limit in "
                f"{' or '.join(dict.fromkeys(units))}, or in another unit of that kind"
            )


def refuse_arguments_of_parts(paths: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Refuse paths that name arguments of a part, such as ``rig.substeps``: these change what is built.

    Parameters
    ----------
    paths
        Values by path.
    parts
        The parts of the test, by the word that begins their paths.
    """
    for path in paths:
        head, _, rest = path.partition(".")
        part = parts.get(head)
        if is_dataclass(part) and rest in {f.name for f in fields(part)}:
            kind = type(part).__name__
            raise InputError(
                f"'{path}' is not a parameter, which could be changed as the test runs, but decides how it "
                f"is built: give it where the test is made, {kind}(..., {rest}={paths[path]})"
            )
