"""Numbers of ticks: which values are nothing more, and ticks of one form, which differ in numbers only.

A parameter is a mere number of a tick if nothing reads its value while that is built. Whether a value decides
more (a mode, a matrix, the design of a controller) cannot be seen from ticks that were built with other
values: the next one may lie beyond a threshold. So a tick is built with placeholders. They can be put where
values are put, and whatever else is done with one is a read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bondloop.engine.ir import (
    Assign,
    Channel,
    Const,
    Delay,
    Expr,
    Factored,
    Loop,
    Op,
    Product,
    Repeat,
    Tick,
    Update,
    Var,
    dump_tick,
    revised,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Step


@dataclass(frozen=True)
class _Watch:
    """Names of the parameters whose reads are seen, those of them that are no generic numbers, and reads."""

    names: Collection[str] = ()
    special: Collection[str] = ()
    reads: set[str] = field(default_factory=set)


_WATCH: ContextVar[_Watch] = ContextVar("watch", default=_Watch())  # noqa: B039 - nothing is added to this one


Number = TypeVar("Number", int, float)


class ValueRead(Exception):  # noqa: N818 - no error: it ends what is built in vain
    """Values were read of which only the places were wanted.

    Parameters
    ----------
    names
        Of the parameters.
    """

    def __init__(self, names: AbstractSet[str]) -> None:
        super().__init__(", ".join(sorted(names)))
        self.names = names


class _Placeholder:
    """Stands for the value of a parameter; whoever reads it ends what is being built."""

    def __init__(self, name: str, value: float, watch: _Watch) -> None:
        self._name, self._value, self._watch = name, value, watch

    def _read(self, *_: object) -> object:
        self._watch.reads.add(self._name)
        raise ValueRead({self._name})

    __class__ = property(_read)
    __getattr__ = _read


_OPERATIONS = """
    float int complex index bool array hash repr str format eq ne lt le gt ge neg pos abs round trunc floor
    ceil add sub mul truediv floordiv mod divmod pow radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow
"""
for _operation in _OPERATIONS.split():
    setattr(_Placeholder, f"__{_operation}__", _Placeholder._read)


def placed(name: str, value: Number) -> Number:
    """Return a value to put into a system or a tick: a placeholder where it is seen whether that is read.

    Parameters
    ----------
    name
        Of the parameter.
    value
        Its value, checked.
    """
    watch = _WATCH.get()
    return _Placeholder(name, value, watch) if name in watch.names else value  # type: ignore[return-value]


def generic(value: Any) -> Any:
    """Return a value for a point at which a structure is decided that holds for almost all values.

    That is no read, unless values may be special ones: zeros, or whole numbers, which may cancel.

    Parameters
    ----------
    value
        Of a parameter.
    """
    if type(value) is not _Placeholder or value._name in value._watch.special:
        return value
    return value._value


def built_unread(
    build: Callable[[], Tick], numbers: Mapping[str, float], special: AbstractSet[str] = frozenset()
) -> Tick:
    """Return a tick whose form does not depend on some of its parameters; raise `ValueRead` where it does.

    Parameters
    ----------
    build
        Builds it, with values of these parameters, whichever.
    numbers
        The values that it then has, by name.
    special
        Names of those whose values may be zeros or whole numbers.
    """
    watch = _Watch(numbers.keys(), special)
    token = _WATCH.set(watch)
    try:
        built = build()
    except Exception:
        if not watch.reads:
            raise
        raise ValueRead(watch.reads) from None
    finally:
        _WATCH.reset(token)
    values: Mapping[Var, object] = built.parameters
    there = {v.name for v, x in values.items() if type(x) is _Placeholder}
    if reads := watch.reads | (numbers.keys() - there):
        raise ValueRead(reads)
    return replace(built, parameters={v: numbers.get(v.name, x) for v, x in built.parameters.items()})


def values_read(
    build: Callable[[], Tick], tick: Tick, names: AbstractSet[str], special: AbstractSet[str] = frozenset()
) -> set[str]:
    """Return the names of parameters that are more than numbers of a tick: it is built from their values.

    Parameters
    ----------
    build, special
        As of `built_unread`.
    tick
        What it builds.
    names
        Of parameters.
    """
    own = {v.name: x for v, x in tick.parameters.items() if v.name in names}
    found: set[str] = set()
    while left := names - found:
        try:
            built = built_unread(build, {name: own[name] for name in left}, special)
            if json.dumps(dump_tick(built)) == json.dumps(dump_tick(tick)):
                break
            found |= left
        except ValueRead as read:  # by what builds it, or by writing what stands elsewhere, in a first state
            found |= read.names
    return found


# Ticks that differ in numbers only, as one tick with other parameters: they share one library.


def _of(node: Any, number: Callable[[float], Expr]) -> Any:
    """Return a statement, a channel or an expression with other constants.

    An exponent and the key of a stream of noise stay: they say what is computed, and how.
    """
    if isinstance(node, Const):
        return number(node.value)
    if isinstance(node, Op):
        if node.name in ("normal", "uniform"):
            return node
        kept = 1 if node.name == "pow" and isinstance(node.args[1], Const) else len(node.args)
        return node.with_args((*(_of(a, number) for a in node.args[:kept]), *node.args[kept:]))
    if isinstance(node, tuple):
        return tuple(_of(n, number) for n in node)
    if isinstance(node, (Assign, Loop, Update, Delay, Product, Channel)):
        own = {f.name: getattr(node, f.name) for f in fields(node) if f.name in _EXPRESSIONS}
        return replace(node, **{name: _of(value, number) for name, value in own.items()})
    return node


_EXPRESSIONS = (
    "expr", "pairs", "source", "sources", "body", "definitions", "tangents", "jacobian", "value",
)  # fmt: skip
"""Fields of statements and channels that hold expressions, or assignments."""


def _renumbered(steps: Iterable[Step], number: Callable[[float], Expr]) -> Iterator[Step]:
    """Yield statements whose numbers are changed, one after the other: constants, entries of matrices."""
    for step in steps:
        if isinstance(step, Repeat):
            body = tuple(_renumbered(step.body, number))
            yield replace(step, body=body, until=_of(step.until, number))
        elif isinstance(step, Product) and not isinstance(step.matrix, Factored):
            yield from _product(step, number)
        else:  # numbers worked into factors stay: those of other tests are another form
            yield _of(step, number)


def _product(step: Product, number: Callable[[float], Expr]) -> Iterator[Step]:
    """Yield a product with other numbers; written out, column by column, where they are not all numbers.

    Zeros that no test has otherwise are left out, as from any small or sparse product.
    """
    matrix = step.matrix
    dense = np.array(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    entries = [[number(x) for x in row] for row in dense.tolist()]
    step = _of(step, number)
    if all(isinstance(e, Const) for row in entries for e in row):
        values = [[e.value for e in row if isinstance(e, Const)] for row in entries]
        yield replace(step, matrix=np.array(values).reshape(dense.shape))
        return
    copies = [Var(f"{step.targets[0].name}.of[{j}]") for j in range(len(step.sources))]
    yield from (Assign(copy, source) for copy, source in zip(copies, step.sources, strict=True))
    for target, row in zip(step.targets, entries, strict=True):
        pairs = zip(row, copies, strict=True)
        terms = [Op("mul", (e, x)) for e, x in pairs if not (isinstance(e, Const) and e.value == 0)]
        yield Assign(target, Op("add", tuple(terms)) if len(terms) > 1 else [*terms, Const(0.0)][0])


def form_of(tick: Tick) -> tuple[str, NDArray[np.float64]]:
    """Return what a tick is without its numbers, as a key, and the numbers in their order.

    Parameters
    ----------
    tick
        First its states and parameters count, then what stands in statements and channels.
    """
    numbers = [*map(float, tick.states.values()), *map(float, tick.parameters.values())]

    def take(value: float) -> Expr:
        numbers.append(value)
        return Const(0.0)

    plain = replace(
        tick,
        steps=tuple(_renumbered(tick.steps, take)),
        channels=_of(tick.channels, take),
        states=dict.fromkeys(tick.states, 0.0),
        parameters=dict.fromkeys(tick.parameters, 0.0),
    )
    key = hashlib.sha256(json.dumps(dump_tick(plain), sort_keys=True).encode()).hexdigest()
    return key, np.array(numbers)


def with_numbers(
    tick: Tick, numbers: NDArray[np.float64], differs: Collection[int] = ()
) -> tuple[Tick, tuple[str, ...]]:
    """Return a tick with other numbers, of which some are parameters; and the names of those.

    Parameters
    ----------
    tick
        Of the same form.
    numbers
        As of `form_of`.
    differs
        Places of those that become parameters; states and parameters are set by their own names.

    Examples
    --------
    >>> x = Var("x")
    >>> steps = (Update(((x, Op("mul", (Const(0.5), x))),)),)
    >>> tick = Tick("decay", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, steps, ())
    >>> whole, names = with_numbers(tick, form_of(tick)[1], {0, 1})
    >>> names, whole.parameters
    (('x', 'rebuilt.0'), {<Var rebuilt.0>: 0.5})
    """
    known = [v.name for v in (*tick.states, *tick.parameters)]
    places = iter(range(len(known), len(numbers)))
    new: dict[Var, float] = {}

    def at(_: float) -> Expr:
        place = next(places)
        value = float(numbers[place])
        if place not in differs:
            return Const(value)
        v = Var(f"rebuilt.{len(new)}")
        new[v] = value
        return v

    count = len(tick.states)
    whole = replace(
        tick,
        steps=tuple(_renumbered(tick.steps, at)),
        channels=_of(tick.channels, at),
        states=dict(zip(tick.states, numbers[:count].tolist(), strict=True)),
        parameters=dict(zip(tick.parameters, numbers[count : len(known)].tolist(), strict=True)) | new,
    )
    return whole, (*(name for i, name in enumerate(known) if i in differs), *(v.name for v in new))


def without_numbers(tick: Tick, fixed: Collection[str]) -> tuple[Tick, dict[str, float], dict[str, float]]:
    """Return a tick without the numbers of its statements; first states and parameters that it computes with.

    A setting of a controller (a delay, a gain) is a number in its statements. Where many settings are tried,
    each would be compiled anew, which takes far longer than a run. Matrices keep their numbers.

    Parameters
    ----------
    tick
        What is to run.
    fixed
        Names of variables whose statements and first values stay: those that all ticks have in common.

    Examples
    --------
    >>> from bondloop.engine.codegen import Runner
    >>> def fading(share):
    ...     x = Var("x")
    ...     steps = (Update(((x, share * x),)),)
    ...     return Tick("fading", 0.1, Var("t"), Var("k"), (), {x: 1.0}, {}, steps, (Channel("x", x),))
    >>> (half, *_), (third, *numbers) = (without_numbers(fading(share), ()) for share in (0.5, 1 / 3))
    >>> dump_tick(half) == dump_tick(third), numbers
    (True, [{'x': 1.0}, {'number[0]': 0.3333333333333333}])
    """
    numbers: dict[Var, float] = {}

    def apart(value: float) -> Expr:
        parameter = Var(f"number[{len(numbers)}]")
        numbers[parameter] = value
        return parameter

    def changed(step: Step) -> Step:
        if isinstance(step, Update):
            return Update(tuple((v, e if v.name in fixed else _of(e, apart)) for v, e in step.pairs))
        return step if any(v.name in fixed for v in step.writes) else _of(step, apart)

    own = {v: x for v, x in tick.states.items() if v.name not in fixed}
    bare = replace(
        tick,
        steps=revised(tick.steps, changed),
        channels=_of(tick.channels, apart),
        states={v: 0.0 if v in own else x for v, x in tick.states.items()},
        parameters={**tick.parameters, **dict.fromkeys(numbers, 0.0)},
    )
    return bare, {v.name: x for v, x in own.items()}, {v.name: x for v, x in numbers.items()}
