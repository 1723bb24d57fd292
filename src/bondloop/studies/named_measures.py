"""Measures by name, as a command line or a file gives them."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from bondloop.engine.ir import FUNCTIONS, Const, Expr, Op, Role, Var, function
from bondloop.errors import BondloopError, InputError, unknown_name
from bondloop.safety import DISPLACEMENT_SWITCH
from bondloop.studies.tick_measures import KINDS, OF_TWO, Measure

if TYPE_CHECKING:
    from bondloop.engine.ir import Channel, Tick
    from bondloop.safety import Limits


TRIP = ("trip", "trip_time")
"""Whether a test was stopped, by a limit or by its interlock, and when: they are told by how it ended."""

OWN = ("error", "reference_error", "delay", "energy", "growth", "limit", *TRIP)

SHORT = {"abs": "fabs", "min": "fmin", "max": "fmax"}
"""Python's names of functions."""

NOISE = ("normal", "uniform")
"""Functions that are noise: they are no measure."""

TWO_ARGUMENTS = ("atan2", "fmin", "fmax")

_SIGNS = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


def named_measure(name: str, tick: Tick, limits: Limits | None = None) -> Measure:
    """Return a measure by name: ``error``, ``delay`` and others, or ``peak:EXPRESSION`` and the like.

    Parameters
    ----------
    name
        ``error`` is the rms error of the first transfer system over the rms of what it should follow,
        ``reference_error`` that of the first velocity at the interface over the reference's, ``delay`` by
        regression in s, ``energy`` the energy error over the energy exchanged, ``growth`` of the rig's motion
        in 1/s, ``limit`` the largest share of a limit that was reached. Otherwise a kind of measure and an
        expression of channels, ``rms:command - actual.displacement``.
    tick
        Of the test.
    limits
        Of its interlock, if it has one.
    """
    kind, colon, rest = (part.strip() for part in name.partition(":"))
    if colon and kind in KINDS and kind not in OF_TWO:
        return Measure(kind, written_expression(rest, tick))  # type: ignore[arg-type]
    if colon and kind in OF_TWO:
        of, also, along = rest.partition("~")
        if not also:
            raise InputError(f"{kind} is a measure of two signals, {kind}:ONE ~ OTHER; found {name!r}")
        return Measure(kind, written_expression(of, tick), along=written_expression(along, tick))  # type: ignore[arg-type]
    if name not in OWN or name in TRIP:
        known = [*OWN, *(f"{k}:EXPRESSION" for k in KINDS)]
        raise InputError(unknown_name("measure", name, known))
    return _limit(tick, limits) if name == "limit" else _at_the_interface(name, tick)


def _at_the_interface(name: str, tick: Tick) -> Measure:
    # As `Run.coupled`: there is nothing to follow before the rig is to.
    during = (
        Var(DISPLACEMENT_SWITCH) >= 1 if any(c.name == DISPLACEMENT_SWITCH for c in tick.channels) else None
    )
    if name == "reference_error":
        for c in tick.channels:
            if c.meaning.role == Role.REFERENCE and c.meaning.counterpart:
                known = Var(c.name)
                return Measure("rms", Var(c.meaning.counterpart) - known, over=known, during=during)
        raise InputError(f"{tick.name} has no reference to measure an error against")
    desired, actual = (_channel(tick, role, "displacement") for role in (Role.DESIRED, Role.ACTUAL))
    if name == "error":
        return Measure("rms", actual - desired, over=desired, during=during)
    if name == "delay":
        return Measure("delay", actual, along=desired, during=during)
    if name == "growth":
        return Measure("growth", actual)
    force = _channel(tick, Role.ACTUAL, "force")
    through = Measure("exchange", force, along=desired, during=during)
    return Measure("work", force, along=actual - desired, over=through, during=during)


def _channel(tick: Tick, role: Role, quantity: str) -> Var:
    for c in tick.channels:
        meaning = c.meaning
        if meaning.role == role and meaning.interface in (0, None) and meaning.quantity == quantity:
            return Var(c.name)
    raise InputError(f"{tick.name} has no {role} {quantity} at an interface to measure")


def _limit(tick: Tick, limits: Limits | None) -> Measure:
    shares = limit_shares(tick, limits)
    if not shares:
        raise InputError(f"{tick.name} has no limits to come near to; give limits=bl.safety.Limits(...)")
    largest = shares[0]
    for share in shares[1:]:
        largest = function("fmax", largest, share)
    return Measure("largest", largest)


def limit_shares(tick: Tick, limits: Limits | None) -> list[Expr]:
    """Return of every limit which share of it is reached, as expressions of channels.

    Parameters
    ----------
    tick
        Of the test: what stops it is in its bounds.
    limits
        Those of its interlock, which sees what is measured.
    """
    from bondloop.rehearsal import DIVERGED, limit_word

    bounds = [(Var(name), bound) for name, bound in tick.bounds.items() if bound < DIVERGED]
    seen: dict[tuple[str, int | None], Var] = {}
    for role in (Role.ACTUAL, Role.COMMAND, Role.MEASURED):  # what is measured takes the place of the actual
        for c in tick.channels:
            as_actual = replace(c.meaning, role=Role.ACTUAL) if role == Role.MEASURED else c.meaning
            if c.meaning.role == role and (word := limit_word(as_actual)):
                seen[word, c.meaning.interface] = Var(c.name)
    if limits is not None:
        bounds += [(v, b) for (word, _), v in seen.items() if (b := getattr(limits, word, None)) is not None]
    return [function("fabs", value) / float(bound) for value, bound in bounds]


def written_expression(text: str, tick: Tick) -> Expr:
    """Return an expression of channels that is written in Python's way.

    Parameters
    ----------
    text
        A channel's name, or ``force[0] - force[1]``, ``abs(command) > 0.02``, ``sqrt(x**2 + y**2)``.
    tick
        Whose channels they are.
    """
    names = {c.name: c for c in tick.channels}
    plain = text.strip()
    if plain in names:
        return Var(plain)
    try:
        return _read(ast.parse(plain, mode="eval").body, names)
    except BondloopError as error:
        raise InputError(f"{plain!r}: {error}") from None
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise InputError(
            f"{plain!r} is no channel of {tick.name} and no expression of its channels"
        ) from None


def _read(node: ast.expr, names: dict[str, Channel]) -> Expr:  # noqa: PLR0911 - one for each kind of node
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        name = ast.unparse(node)
        if name not in names:
            raise InputError(unknown_name("channel", name, names))
        return Var(name)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Const(float(node.value))  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _read(node.operand, names)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.BinOp):
        a, b = _read(node.left, names), _read(node.right, names)
        if isinstance(node.op, ast.Add):
            return a + b
        if isinstance(node.op, ast.Sub):
            return a - b
        if isinstance(node.op, ast.Mult):
            return a * b
        if isinstance(node.op, ast.Div):
            return a / b
        if isinstance(node.op, ast.Pow):
            return a**b
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
        sign = _SIGNS[type(node.ops[0])]
        return Op(sign, (_read(node.left, names), _read(node.comparators[0], names)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        called = SHORT.get(node.func.id, node.func.id)
        known = [n for n in (*FUNCTIONS, *SHORT) if n not in NOISE]
        if called not in known:
            raise InputError(unknown_name("function", node.func.id, known))
        takes = 2 if called in TWO_ARGUMENTS else 1
        if len(node.args) != takes:
            raise InputError(f"{node.func.id} takes {takes}; found {len(node.args)}")
        return function(called, *(_read(a, names) for a in node.args))
    raise InputError(f"{ast.unparse(node)} is not arithmetic, a comparison or a function of channels")
