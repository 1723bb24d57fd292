"""Arithmetic of Tcl's ``expr``, computed without running anything."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable

from bondloop.errors import InputError

__all__ = ["evaluate"]

DEEPEST = 50
"""Brackets within brackets."""
LONGEST = 4000
"""Characters of an expression."""
LARGEST = 2.0**62
"""Whole numbers beyond become fractions, as no model counts so far."""

Value = int | float

_WORD = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|&&|\|\||[-+*/%<>!?:(),]))"
)
_FUNCTIONS: dict[str, tuple[Callable[..., Value], int]] = {
    "sqrt": (math.sqrt, 1), "sin": (math.sin, 1), "cos": (math.cos, 1), "tan": (math.tan, 1),
    "asin": (math.asin, 1), "acos": (math.acos, 1), "atan": (math.atan, 1), "atan2": (math.atan2, 2),
    "sinh": (math.sinh, 1), "cosh": (math.cosh, 1), "tanh": (math.tanh, 1), "exp": (math.exp, 1),
    "log": (math.log, 1), "log10": (math.log10, 1), "pow": (math.pow, 2), "hypot": (math.hypot, 2),
    "abs": (abs, 1), "int": (math.trunc, 1), "double": (float, 1), "floor": (math.floor, 1),
    "ceil": (math.ceil, 1), "fmod": (math.fmod, 2), "min": (min, -1), "max": (max, -1),
    "round": (lambda x: math.floor(abs(x) + 0.5) * (1 if x >= 0 else -1), 1),
}  # fmt: skip
_LEVELS: tuple[dict[str, Callable[[Value, Value], Value]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {"<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b), "<=": lambda a, b: int(a <= b),
     ">=": lambda a, b: int(a >= b)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: a // b if isinstance(a, int) and isinstance(b, int) else a / b,
     "%": operator.mod},
)  # fmt: skip
"""Operators, the weakest first. A quotient of whole numbers is a whole number in Tcl: 1/2 is 0."""


def evaluate(text: str) -> Value:
    """Return the value of an expression without variables.

    Parameters
    ----------
    text
        Numbers, ``+ - * / % **``, comparisons, ``&& || !``, ``a ? b : c``, brackets, and the functions of Tcl
        for which an engineer has use.

    Examples
    --------
    >>> evaluate("2*(3 + 4.5)/pow(2, 2)"), evaluate("7/2"), evaluate("-2**2 > 3 ? 1 : 0")
    (3.75, 3, 1)
    """
    if len(text) > LONGEST:
        raise InputError(f"an expression of {len(text):,} characters; at most {LONGEST:,} are read")
    words: list[tuple[str, str]] = []
    at = 0
    body = text.rstrip()
    while at < len(body):
        match = _WORD.match(body, at)
        if match is None:
            raise InputError(f"cannot compute {text[:60]!r}: {body[at : at + 10].strip()!r} is no part of it")
        kind = match.lastgroup or ""
        words.append((kind, match[kind]))
        at = match.end()
    parser = _Parser(words, text)
    try:
        value = parser.choice(0)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise InputError(f"cannot compute {text[:60]!r}: {error}") from None
    if parser.rest:
        raise InputError(f"cannot compute {text[:60]!r}: {parser.rest[0][1]!r} is one too many")
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{text[:60]!r} is {value}; expected a finite number")
    return value


class _Parser:
    def __init__(self, words: list[tuple[str, str]], text: str) -> None:
        self.rest, self.text = words, text

    def sign(self, *known: str) -> str:
        """Take the next word if it is one of these signs."""
        if self.rest and self.rest[0][0] == "sign" and self.rest[0][1] in known:
            return self.rest.pop(0)[1]
        return ""

    def need(self, sign: str) -> None:
        if not self.sign(sign):
            raise InputError(f"cannot compute {self.text[:60]!r}: expected {sign!r}")

    def choice(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise InputError(f"cannot compute {self.text[:60]!r}: more than {DEEPEST} brackets in each other")
        value = self.level(0, depth)
        if not self.sign("?"):
            return value
        first = self.choice(depth + 1)
        self.need(":")
        second = self.choice(depth + 1)
        return first if value else second

    def level(self, which: int, depth: int) -> Value:
        if which == len(_LEVELS):
            return self.power(depth)
        value = self.level(which + 1, depth)
        while sign := self.sign(*_LEVELS[which]):
            value = _bounded(_LEVELS[which][sign](value, self.level(which + 1, depth)))
        return value

    def power(self, depth: int) -> Value:
        base = self.single(depth)
        if not self.sign("**"):
            return base
        exponent = self.power(depth + 1) if depth < DEEPEST else self.single(depth)
        whole = isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent < 64
        value = base**exponent if whole else math.pow(base, exponent)
        return _bounded(value)

    def single(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise InputError(f"cannot compute {self.text[:60]!r}: more than {DEEPEST} brackets in each other")
        if sign := self.sign("-", "+", "!"):  # a sign binds more tightly than a power in Tcl
            value = self.single(depth + 1)
            return -value if sign == "-" else int(not value) if sign == "!" else value
        if self.sign("("):
            value = self.choice(depth + 1)
            self.need(")")
            return value
        if not self.rest:
            raise InputError(f"cannot compute {self.text[:60]!r}: it ends too early")
        kind, word = self.rest.pop(0)
        if kind == "number":
            return _number(word, self.text)
        if kind == "name" and word in _FUNCTIONS:
            self.need("(")
            values = [self.choice(depth + 1)]
            while self.sign(","):
                values.append(self.choice(depth + 1))
            self.need(")")
            function, count = _FUNCTIONS[word]
            if count not in (len(values), -1):
                raise InputError(
                    f"cannot compute {self.text[:60]!r}: {word} takes {count}, not {len(values)}"
                )
            return _bounded(function(*values))
        raise InputError(f"cannot compute {self.text[:60]!r}: {word[:20]!r} is no number or known function")


def _number(word: str, text: str) -> Value:
    if word[:2] in ("0x", "0X"):
        return _bounded(int(word, 16)) if len(word) < 20 else math.inf
    if word.isdigit():
        if len(word) > 1 and word[0] == "0":
            raise InputError(
                f"cannot compute {text[:60]!r}: {word[:20]} would be octal; write it without the 0"
            )
        return int(word) if len(word) < 19 else float(word)
    return float(word)


def _bounded(value: Value) -> Value:
    return float(value) if isinstance(value, int) and abs(value) > LARGEST else value
