"""What a variable measures, and what a recorded channel is: carried along, never read from a name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from bondloop.engine.ir.expr import Expr, Op, Var
from bondloop.errors import InputError
from bondloop.units import multiplied

if TYPE_CHECKING:
    from bondloop.engine.data import Json
    from bondloop.engine.ir.tick import Channel


KINDS = ("effort", "flow", "displacement", "momentum", "power", "acceleration")
"""What a variable can be on a bond, whatever the domain; the last is the rate of the flow."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a variable measures.

    Parameters
    ----------
    name
        In words: ``"force"``, ``"current"``, ``"stiffness"``.
    unit
        In SI, as text; empty where it has none or none is known.
    kind
        Which variable of a bond it is, one of `KINDS`; empty for any other.

    Examples
    --------
    >>> velocity = Quantity("velocity", "m/s", "flow")
    >>> velocity.rate
    Quantity(name='rate of velocity', unit='m/s^2', kind='')
    """

    name: str
    unit: str = ""
    kind: str = ""

    @property
    def rate(self) -> Quantity:
        """What its rate of change measures."""
        return Quantity(f"rate of {self.name}", multiplied(self.unit, "s", -1))

    @property
    def integral(self) -> Quantity:
        """What its integral over time measures."""
        return Quantity(f"integral of {self.name}", multiplied(self.unit, "s"))


def quantity_of(expr: Expr) -> Quantity | None:
    """Return what an expression measures, as far as its variables tell; None where they do not.

    A sum measures what its terms do, and a choice what it chooses from. The figures of a product may have any
    unit, so nothing is concluded from one.

    >>> x = Var("x", quantity=Quantity("displacement", "m", "displacement"))
    >>> quantity_of(1.0 - x).unit, quantity_of(2.0 * x)
    ('m', None)
    """
    if isinstance(expr, Var):
        return expr.quantity
    if isinstance(expr, Op) and expr.name in ("add", "neg", "select", "fmin", "fmax", "fabs"):
        terms = expr.args[1:] if expr.name == "select" else expr.args
        return next((q for q in map(quantity_of, terms) if q is not None), None)
    return None


class Role(StrEnum):
    """What a recorded channel is to the test."""

    OTHER = ""
    EXCITATION = "excitation"
    DESIRED = "desired"
    ACTUAL = "actual"
    MEASURED = "measured"
    COMMAND = "command"
    REFERENCE = "reference"
    ERROR = "error"
    GAIN = "gain"
    ESTIMATE = "estimate"
    STATE = "state"
    SAFETY = "safety"


@dataclass(frozen=True)
class Meaning:
    """What a recorded channel is.

    Parameters
    ----------
    role
        Its part in the test.
    quantity, kind
        Name and kind of what it measures, as in `Quantity`.
    interface
        Number of the interface at which it acts or is seen, from 0; None where it belongs to none.
    counterpart
        For what the reference gives: the name of the channel of the test that it is compared with.
    """

    role: Role = Role.OTHER
    quantity: str = ""
    kind: str = ""
    interface: int | None = None
    counterpart: str = ""

    def describe(self) -> dict[str, Json]:
        """Return it as a dictionary that fits into JSON, without what is not known."""
        return {k: str(v) if k == "role" else v for k, v in asdict(self).items() if v not in ("", None)}

    @classmethod
    def from_description(cls, description: Mapping[str, Any]) -> Meaning:
        """Return the meaning that a dictionary from `describe` stands for.

        >>> Meaning.from_description({"role": "desired", "kind": "flow", "interface": 0})
        Meaning(role=<Role.DESIRED: 'desired'>, quantity='', kind='flow', interface=0, counterpart='')
        """
        texts = {f.name: description.get(f.name, "") for f in fields(cls) if f.name != "interface"}
        number = description.get("interface")
        unknown = set(description) - {f.name for f in fields(cls)}
        if unknown or not all(isinstance(v, str) for v in texts.values()) or texts["role"] not in list(Role):
            raise InputError(
                f"expected what a channel is, by role, kind and interface; found {description!r:.80}"
            )
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
            raise InputError(f"interface: expected a number from 0; found {number!r:.40}")
        return cls(Role(texts["role"]), texts["quantity"], texts["kind"], number, texts["counterpart"])


NOTHING = Meaning()
"""Of a channel of which nothing is known."""


def channels_of(
    meanings: Mapping[str, Meaning] | Iterable[Channel], *roles: Role, kind: str | None = None
) -> list[str]:
    """Return the names of channels with one of some roles, in the order in which they are recorded.

    Parameters
    ----------
    meanings
        By name; or the channels of a tick.
    *roles
        Any of these.
    kind
        Only those of this kind: ``"displacement"``; None for all.
    """
    pairs = meanings.items() if isinstance(meanings, Mapping) else ((c.name, c.meaning) for c in meanings)
    return [name for name, m in pairs if m.role in roles and kind in (None, m.kind)]
