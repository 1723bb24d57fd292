"""Quantities as text with a unit, converted to SI.

>>> quantity("150 mm")
0.15
>>> quantity("4.75 kN/m")
4750.0
>>> quantity("6 N s/m")
6.0
"""

from __future__ import annotations

import math
import re

from bondloop.errors import InputError, unknown_name

__all__ = ["quantity"]

_UNITS = {
    "m": 1.0, "g": 1e-3, "s": 1.0, "A": 1.0, "K": 1.0, "rad": 1.0, "deg": math.pi / 180, "N": 1.0, "Pa": 1.0,
    "bar": 1e5, "J": 1.0, "W": 1.0, "V": 1.0, "C": 1.0, "F": 1.0, "H": 1.0, "Ohm": 1.0, "ohm": 1.0, "Ω": 1.0,
    "Hz": 1.0, "min": 60.0, "h": 3600.0, "L": 1e-3, "l": 1e-3, "t": 1e3, "in": 0.0254, "ft": 0.3048,
    "lb": 0.45359237, "lbf": 4.4482216152605, "psi": 6894.757293168, "rpm": math.pi / 30, "%": 0.01, "T": 1.0,
    "gn": 9.80665,
}  # fmt: skip
_DIMENSIONS: dict[str, tuple[int, int, int, int, int]] = {
    # Powers of kg, m, s, A and K; what is not named here has none.
    **dict.fromkeys(("g", "t", "lb"), (1, 0, 0, 0, 0)), **dict.fromkeys(("m", "in", "ft"), (0, 1, 0, 0, 0)),
    **dict.fromkeys(("s", "min", "h"), (0, 0, 1, 0, 0)), "A": (0, 0, 0, 1, 0), "K": (0, 0, 0, 0, 1),
    **dict.fromkeys(("N", "lbf"), (1, 1, -2, 0, 0)), **dict.fromkeys(("Pa", "bar", "psi"), (1, -1, -2, 0, 0)),
    "J": (1, 2, -2, 0, 0), "W": (1, 2, -3, 0, 0), "V": (1, 2, -3, -1, 0), "C": (0, 0, 1, 1, 0),
    "F": (-1, -2, 4, 2, 0), "H": (1, 2, -2, -2, 0),
    **dict.fromkeys(("Ohm", "ohm", "Ω"), (1, 2, -3, -2, 0)), **dict.fromkeys(("Hz", "rpm"), (0, 0, -1, 0, 0)),
    **dict.fromkeys(("L", "l"), (0, 3, 0, 0, 0)), "T": (1, 0, -2, -1, 0), "gn": (0, 1, -2, 0, 0),
}  # fmt: skip
_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1, "k": 1e3, "M": 1e6, "G": 1e9}
_PREFIXED = {
    "m",
    "g",
    "s",
    "A",
    "N",
    "Pa",
    "bar",
    "J",
    "W",
    "V",
    "C",
    "F",
    "H",
    "Ohm",
    "ohm",
    "Ω",
    "Hz",
    "L",
    "l",
    "rad",
    "T",
}
_SI = {
    "g": "kg", "t": "kg", "lb": "kg", "deg": "rad", "rpm": "rad/s", "bar": "Pa", "psi": "Pa", "min": "s",
    "h": "s", "L": "m^3", "l": "m^3", "in": "m", "ft": "m", "lbf": "N", "%": "", "gn": "m/s^2",
}  # fmt: skip
"""What a value is in that `quantity` has converted; units that are not named here are SI themselves."""
_WORD = re.compile(r"(?:[A-Za-zµΩ%]+|\))(?:(?:\^|\*\*)?-?\d+)?|\S")
_ANGLES = frozenset({"rad", "deg", "rpm"})
_FIGURES = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻\u03bc\u2126", "0123456789-µΩ")
"""Raised figures; and the Greek mu and the sign of the ohm, which look like the prefix and the letter."""
_TEXT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")


def quantity(text: str, *units: str) -> float:
    """Return the SI value of a number with a unit.

    Units are multiplied by a space, ``*`` or ``·``, divided by ``/`` (by the next unit or bracket only, so
    after a slash a mere space is refused), raised by ``^`` or ``**`` or a trailing digit (``m2``).
    Brackets hold several together: ``N/(mm/s)``. Powers may be raised figures too: ``m/s²``.
    Temperatures and other units with an offset are not accepted.

    Parameters
    ----------
    text
        The number and its unit.
    units
        What it must measure, as units of the same kind: ``"m"`` for any length, ``"1"`` for a plain number or
        percentage; any one of several. Nothing for anything; a number without a unit is always good.
    """
    match = _TEXT.fullmatch(text)
    wanted = [unit for unit in units if unit]
    if not match:
        raise InputError(f"expected a number with a unit, such as '150 {(*wanted, 'mm')[0]}'; found {text!r}")
    if wanted and not any(is_of_kind(text, unit) for unit in wanted):
        if wanted == ["1"]:
            raise InputError(f"expected a number without a unit, or in %; found {text!r}")
        names, kind = (" or ".join(wanted), "its kind" if len(wanted) == 1 else "these kinds")
        accelerated = any(_dimension(unit, unit) == _DIMENSIONS["gn"] for unit in wanted)
        gram = accelerated and any(name == "g" for _, name, _ in _factors(match[2], text))
        hint = "; g is the gram, standard gravity is gn" if gram else ""
        raise InputError(f"expected a quantity in {names}, or another unit of {kind}; found {text!r}{hint}")
    try:
        value = _in_si(match, text)
    except (OverflowError, ZeroDivisionError):
        value = math.inf
    if not math.isfinite(value):
        raise InputError(f"expected a finite number; {text!r} is too large")
    return value


def is_of_kind(text: str, unit: str) -> bool:
    """Whether a number with a unit measures what a unit measures; one without a unit may measure anything.

    Parameters
    ----------
    text
        A number with or without a unit.
    unit
        The unit to compare with.

    Examples
    --------
    >>> is_of_kind("5 mm", "m"), is_of_kind("5 mm", "kg"), is_of_kind("5", "kg")
    (True, False, True)
    >>> is_of_kind("240 rpm", "rad/s"), is_of_kind("240 rpm", "Hz"), is_of_kind("4 Hz", "rad/s")
    (True, False, False)
    >>> is_of_kind("5 deg", "rad"), is_of_kind("5 %", "rad"), is_of_kind("5 deg", "1"), is_of_kind("5 %", "1")
    (True, False, False, True)
    """
    match = _TEXT.fullmatch(text)
    if match is None or not match[2]:
        return True
    # A turn is 2π of a radian: what is counted in Hz and what is in rad/s are two things of one dimension.
    found, wanted = _factors(match[2], text), _factors(unit, unit)
    turning, counting = ({name for _, name, _ in factors} for factors in (found, wanted))
    if ("Hz" in counting and turning & _ANGLES) or ("Hz" in turning and counting & _ANGLES):
        return False
    measured = _dimension(match[2], text)
    # Where nothing but time is left, an angle is a dimension: a share of something is not so many radians.
    alone = not any(power for i, power in enumerate(measured) if i != 2)
    return measured == _dimension(unit, unit) and (not alone or _turns(found) == _turns(wanted))


def _turns(factors: list[tuple[float, str, int]]) -> int:
    """Return the power of the angle in a product of units."""
    return sum(power for _, name, power in factors if name in _ANGLES)


def unit_in(text: str) -> str:
    """Return the unit of a number with a unit; an empty text for a number without.

    Parameters
    ----------
    text
        A number with or without a unit.

    Examples
    --------
    >>> unit_in("5 mm"), unit_in("5")
    ('mm', '')
    """
    match = _TEXT.fullmatch(text)
    return match[2] if match else ""


def multiplied(unit: str, other: str, power: int = 1) -> str:
    """Return the unit of a product: of what is measured in one unit times a power of what is in another.

    Parameters
    ----------
    unit, other
        The units, as texts.
    power
        Of the other; -1 for a quotient.

    Examples
    --------
    >>> multiplied("m/s", "s"), multiplied("N", "m", -1), multiplied("m^3/s", "s"), multiplied("s", "s", -2)
    ('m', 'N/m', 'm^3', '1/s')
    """
    powers: dict[str, int] = {}
    for text, factor in ((unit, 1), (other, power)):
        for prefix, name, own in _factors(text, text):
            symbol = next((p for p, x in _PREFIXES.items() if x == prefix), "") + name
            powers[symbol] = powers.get(symbol, 0) + factor * own
    above = " ".join(_raised(symbol, n) for symbol, n in powers.items() if n > 0)
    below = "".join(f"/{_raised(symbol, -n)}" for symbol, n in powers.items() if n < 0)
    return f"{above or '1'}{below}" if below else above


def si_unit(unit: str) -> str:
    """Return the unit that a value has when `quantity` has converted it.

    Parameters
    ----------
    unit
        As text.

    Examples
    --------
    >>> si_unit("mm"), si_unit("kN/mm"), si_unit("deg/s"), si_unit("bar"), si_unit("")
    ('m', 'N/m', 'rad/s', 'Pa', '')
    """
    text = ""
    for _, name, power in _factors(unit, unit):
        text = multiplied(text, _SI.get(name, name), power)
    return text


def known_unit(unit: str, what: str) -> str:
    """Return a unit if it is one.

    Parameters
    ----------
    unit
        As text; empty or ``"1"`` for what has none.
    what
        What is measured in it, for the message.

    Examples
    --------
    >>> known_unit("N s/m", "damping")
    'N s/m'
    >>> known_unit("metre", "record['sum']")
    Traceback (most recent call last):
    bondloop.errors.InputError: record['sum']: unknown unit 'metre'; ...
    """
    if not isinstance(unit, str):
        raise InputError(f"{what}: expected a unit as text, such as 'mm'; found {unit!r:.60}")
    try:
        _factors(unit, unit)
    except InputError as error:
        raise InputError(f"{what}: {str(error).removeprefix(f'{unit!r}: ')}") from None
    return unit


def _raised(symbol: str, power: int) -> str:
    return symbol if power == 1 else f"{symbol}^{power}"


def _in_si(match: re.Match[str], text: str) -> float:
    value = float(match[1])
    for prefix, name, power in _factors(match[2], text):
        value *= float((prefix * _UNITS[name]) ** power)
    return value


def dimension(text: str) -> tuple[int, ...] | None:
    """Return the powers of kg, m, s, A and K of a number with a unit; None for one without.

    Parameters
    ----------
    text
        A number with or without a unit.

    Examples
    --------
    >>> dimension("3 N/(mm/s)"), dimension("3")
    ((1, 0, -1, 0, 0), None)
    """
    match = _TEXT.fullmatch(text)
    return _dimension(match[2], text) if match and match[2] else None


def _dimension(units: str, text: str) -> tuple[int, ...]:
    """Return the powers of kg, m, s, A and K in a product of units."""
    total = [0] * 5
    for _, name, power in _factors(units, text):
        total = [a + power * b for a, b in zip(total, _DIMENSIONS.get(name, (0,) * 5), strict=True)]
    return tuple(total)


def _factors(units: str, text: str, longest: int = 200, highest: int = 99) -> list[tuple[float, str, int]]:
    """Return prefix, name and power of each unit in a product with slashes and brackets.

    ``longest`` bounds its characters, ``highest`` the power of one unit: the tenth derivative of an input has
    seconds to the -12.
    """
    if len(units) > longest:
        raise InputError(f"a unit of {len(units):,} characters; at most {longest} are read: '{text[:40]}...'")
    plain = units.translate(_FIGURES)
    words = _WORD.findall(plain[1:] if plain == "1" or plain[:2] == "1/" else plain)
    factors, rest = _product(words, text)
    if rest:
        raise InputError(f"{text!r}: a bracket is closed that was not opened")
    for _, name, power in factors:
        if abs(power) > highest:
            raise InputError(
                f"expected a finite number; {text!r} is too large or small ('{name}' to the {power})"
            )
    return factors


def _product(words: list[str], text: str) -> tuple[list[tuple[float, str, int]], list[str]]:
    """Read a product up to the end or to a closing bracket; return its units and the words after it."""
    factors: list[tuple[float, str, int]] = []
    divided, sign = False, ""
    while words and words[0][0] != ")":
        word, *words = words
        if word in "/*·":
            if sign:
                raise InputError(f"{text!r}: expected a unit after '{sign}'; found '{word}'")
            sign = word
            continue
        if divided and not sign:
            raise InputError(
                f"{text!r} can be read in two ways; write '/{word}' to divide by it, or '*{word}' to multiply"
            )
        if word == "(":
            inner, words = _product(words, text)
            if not words or not inner:
                raise InputError(f"{text!r}: a bracket is not closed, or holds no unit")
            power = int(words[0].lstrip(")^*") or 1)
            words, inner = words[1:], [(prefix, name, k * power) for prefix, name, k in inner]
        else:
            inner = [_read(word, text)]
        divided = divided or sign == "/"
        factors += [(prefix, name, -k if sign == "/" else k) for prefix, name, k in inner]
        sign = ""
    if sign:
        raise InputError(f"{text!r}: expected a unit after '{sign}'")
    return factors, words


def _read(word: str, text: str) -> tuple[float, str, int]:
    """Return the prefix as a factor, the name and the power of one unit."""
    match = re.fullmatch(r"([A-Za-zµΩ%]+)(?:(?:\^|\*\*)?(-?\d+))?", word)
    if not match:
        raise InputError(f"{text!r}: cannot read the unit {word!r}")
    name, power = match[1], int(match[2] or 1)
    if name in _UNITS:
        return 1.0, name, power
    if name[0] in _PREFIXES and name[1:] in _PREFIXED:
        return _PREFIXES[name[0]], name[1:], power
    raise InputError(f"{text!r}: {unknown_name('unit', name, _UNITS)}")
