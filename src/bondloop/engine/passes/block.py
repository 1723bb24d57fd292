"""Blocks of a tick: parts with named states and parameters and one pure step, written as statements.

Imperfections of a rig, compensators, switches and trips are blocks. Whoever builds a tick gives each a
`Context` (where it stands) and receives `Applied` (its statements, its value, what it keeps and what is worth
recording).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bondloop.display import brief
from bondloop.engine.data import number
from bondloop.engine.ir import Assign, Channel, Expr, Step, Update, Var, as_expr, is_comparison, is_trivial
from bondloop.errors import BondloopError, ModelError


@dataclass(frozen=True)
class Context:
    """Where a block stands; given by whoever builds the tick.

    Attributes
    ----------
    name
        A unique prefix for the names of variables, such as ``"rig.force[0]"``.
    count
        Variable of the number of the tick, from 0.
    period
        Seconds between executions.
    seed, stream
        Of the noise. The seed is a variable where it can be changed without another tick; a stream is below
        65536, another one for every part. A part that draws several times (a chain) takes further streams,
        each 65536 after the one before it.
    velocity
        How fast a block's input changes, where that is known besides the input itself.
    common
        The stream that this part shares with its like at the other interfaces.
    """

    name: str
    count: Var
    period: float
    seed: int | Var = 0
    stream: int = 0
    velocity: Expr | None = None
    common: int = 0


@dataclass(frozen=True)
class Applied:
    """A block as statements: execute ``steps`` in order, then ``value`` is its output.

    Attributes
    ----------
    steps
        Statements; updates of states stand among them.
    value
        An expression of what the steps compute; evaluate it after them.
    states
        Variables that keep their value from tick to tick, with initial values.
    parameters
        Constants that can be changed while the tick runs (a switch's set point), with their values.
    channels
        What is worth recording besides the value. A state named here stands for its value at the beginning of
        the tick.
    adapted
        Variables that the block adapts as it runs: coefficients, gains, estimates. The loop is linear only
        as long as they keep still.
    """

    steps: Sequence[Step]
    value: Expr
    states: dict[Var, float] = field(default_factory=dict)
    parameters: dict[Var, float] = field(default_factory=dict)
    channels: tuple[Channel, ...] = ()
    adapted: tuple[Var, ...] = ()

    __repr__ = brief


class Statements:
    """A block while it is being written: statements in their order, with what they keep and record.

    Parameters
    ----------
    name
        With what the names of its variables begin: that of a context.

    Attributes
    ----------
    steps, states, parameters, channels, adapted
        As of `Applied`.

    Examples
    --------
    >>> body = Statements("controller")
    >>> last = body.state("last")
    >>> change = body.put("change", Var("x") - last)
    >>> body.update({last: Var("x")})
    >>> body.applied(change).states
    {<Var controller.last>: 0.0}
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Step] = []
        self.states: dict[Var, float] = {}
        self.parameters: dict[Var, float] = {}
        self.channels: list[Channel] = []
        self.adapted: list[Var] = []

    def __repr__(self) -> str:
        return f"<Statements {self.name}: {len(self.steps)} statements, {len(self.states)} states>"

    def var(self, word: str) -> Var:
        """Return the variable that the block calls ``word``."""
        return Var(f"{self.name}.{word}")

    def state(self, word: str, first: float = 0.0) -> Var:
        """Return a variable called ``word`` that is kept from tick to tick and is ``first`` at first."""
        variable = self.var(word)
        self.states[variable] = first
        return variable

    def put(self, word: str, value: Expr) -> Var:
        """Compute ``value`` as the variable called ``word``; return the variable."""
        variable = self.var(word)
        self.steps.append(Assign(variable, value))
        return variable

    def once(self, word: str, value: Expr) -> Expr:
        """Return ``value`` for several uses: by the name ``word``, so that it is computed once."""
        return value if is_trivial(value) else self.put(word, value)

    def update(self, changes: Mapping[Var, Expr]) -> None:
        """Give states their next values, all at once: ``changes`` has them by state."""
        self.steps.append(Update(tuple(changes.items())))

    def add(self, *parts: Applied) -> Expr:
        """Execute further blocks here, ``parts`` in turn; return the value of the last."""
        for part in parts:
            self.steps += part.steps
            self.states.update(part.states)
            self.parameters.update(part.parameters)
            self.channels += part.channels
            self.adapted += part.adapted
        return parts[-1].value

    def applied(self, value: Expr) -> Applied:
        """Return the block whose output is ``value``."""
        channels, adapted = tuple(self.channels), tuple(self.adapted)
        return Applied(self.steps, value, self.states, self.parameters, channels, adapted)


def call_part(part: object, method: str, *arguments: object) -> object:
    """Return what a method of a part returns that anyone may have written; its slips are told as the part's.

    Parameters
    ----------
    part
        A compensator, an imperfection, a scheme.
    method
        Its name.
    *arguments
        What it is given.
    """
    where = f"{type(part).__name__}.{method}"
    try:
        result: object = getattr(part, method)(*arguments)
    except BondloopError:
        raise
    except NotImplementedError:
        raise ModelError(f"{where} is not written: a class of one's own needs this method") from None
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise ModelError(f"{where} cannot be written down as statements: {error}") from error
    return result


def applied_of(part: object, method: str, *arguments: object) -> Applied:
    """Return the block that a method of a part makes, if its value is a number and its states begin as some.

    Parameters
    ----------
    part, method, *arguments
        As for `call_part`.

    Examples
    --------
    >>> class Half:
    ...     def apply(self, value, context):
    ...         return value / 2
    >>> applied_of(Half(), "apply", Var("x"), None)
    Traceback (most recent call last):
    bondloop.errors.ModelError: Half.apply: expected Applied(steps, value); found <Op ...
    """
    where, made = f"{type(part).__name__}.{method}", call_part(part, method, *arguments)
    if not isinstance(made, Applied):
        raise ModelError(f"{where}: expected Applied(steps, value); found {made!r:.60}")
    given: object = made.value  # whatever it was given
    states: object = made.states
    if not isinstance(given, (Expr, int, float)) or isinstance(given, bool):
        raise ModelError(f"{where}: expected an expression as the value; found {given!r:.60}")
    value = as_expr(given)
    if is_comparison(value):
        raise ModelError(
            f"{where}: expected a number; found the comparison '{value!s:.60}'; choose between numbers by "
            "select(condition, a, b)"
        )
    expect_statements(made.steps, where)
    if not isinstance(states, Mapping) or not all(isinstance(v, Var) for v in (*states, *made.adapted)):
        raise ModelError(
            f"{where}: expected initial values of states by variable, {{Var('y'): 0.0}}, and variables that "
            f"adapt; found {states!r:.60} and {made.adapted!r:.60}"
        )
    starts = {v: number(x, f"{where}: the state {v.name}") for v, x in states.items()}
    return replace(made, value=value, steps=list(made.steps), states=starts)


def expect_statements(steps: object, where: str) -> None:
    """Refuse what is no list of statements.

    Parameters
    ----------
    steps
        What a method gave as such.
    where
        The method, for the message.
    """
    if not isinstance(steps, (list, tuple)) or not all(isinstance(step, Step) for step in steps):
        raise ModelError(f"{where}: expected a list of statements, [Assign(...), ...]; found {steps!r:.60}")


def at_interface(applied: Applied, interface: int) -> Applied:
    """Return a block whose channels say at which interface it stands, unless they say so themselves."""
    channels = (
        c if c.meaning.interface is not None else replace(c, meaning=replace(c.meaning, interface=interface))
        for c in applied.channels
    )
    return replace(applied, channels=tuple(channels))


def named(value: Expr, context: Context, word: str) -> tuple[list[Step], Expr]:
    """Name an expression that is used more than once, so that it is computed once."""
    if is_trivial(value):
        return [], value
    variable = Var(f"{context.name}.{word}")
    return [Assign(variable, value)], variable
