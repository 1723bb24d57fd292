"""Noise that can be repeated anywhere: the counter-based generator Philox4x32-10.

A counter-based generator has no state. The number drawn is a function of a seed, a stream and a counter, so
noise is the same whatever the order of evaluation: in Python, in NumPy, in C, on a GPU. The integers are
those of the generator's authors. Uniform numbers are made from them exactly, and normal ones with additions,
multiplications, divisions and square roots alone, which IEEE 754 rounds the same way everywhere; the
logarithm and cosine of a mathematical library would differ in their last bit from machine to machine.

References
----------
Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3. Proceedings of SC11.

Box and Muller (1958), A note on the generation of random normal deviates. Annals of Mathematical
Statistics 29.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])
    Word = TypeVar("Word", int, NDArray[np.uint64])


MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LARGEST = 2.0**53
"""Seeds and counters are whole numbers below this, which a double holds exactly; streams are below 2³²."""

LOG_SERIES = tuple(2.0 / (2 * i + 1) for i in range(12))
"""log((1 + f)/(1 - f)) = f Σ aᵢ f²ⁱ; with f² below 0.0295 the next term is under 1e-19 of the first."""

HALF_PI = math.pi / 2
COS_SERIES = tuple((-1.0) ** i / math.factorial(2 * i) for i in range(10))
SIN_SERIES = tuple((-1.0) ** i / math.factorial(2 * i + 1) for i in range(9))
LN2 = 0.6931471805599453
SQRT_HALF = math.sqrt(0.5)

_WORD = 0xFFFFFFFF


def philox4x32(counter: tuple[Word, Word, Word, Word], key: tuple[int, int]) -> tuple[Word, Word, Word, Word]:
    """Encrypt a counter of four 32-bit words with a key of two, in ten rounds (Salmon 2011, section 3.3).

    The words of a counter may be arrays of many: a product of two of them fits into 64 bits.

    >>> [f"{word:08x}" for word in philox4x32((0, 0, 0, 0), (0, 0))]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    words: Any = counter  # NumPy's types do not know that a whole number takes the type of an array
    c0, c1, c2, c3 = words
    k0, k1 = key
    for _ in range(ROUNDS):
        p0 = MULTIPLIERS[0] * c0
        p1 = MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & _WORD, (p0 >> 32) ^ c3 ^ k1, p0 & _WORD
        k0 = (k0 + WEYL[0]) & _WORD
        k1 = (k1 + WEYL[1]) & _WORD
    return c0, c1, c2, c3


def uniform(seed: float, stream: float, counter: float) -> float:
    """Draw a number between 0 and 1, both excluded; NaN unless the arguments are whole and in range.

    Parameters
    ----------
    seed, counter
        Whole numbers from 0 to 2⁵³ - 1; the key, and the first two words of the counter.
    stream
        A whole number from 0 to 2³² - 1, the third word of the counter: one for each source of noise.

    Examples
    --------
    >>> uniform(1, 0, 5) == uniform(1, 0, 5) != uniform(1, 1, 5)
    True
    """
    words = _words(seed, stream, counter)
    return float(_fraction(words[0], words[1])) if words else math.nan


def normal(seed: float, stream: float, counter: float) -> float:
    """Draw a number from the standard normal distribution (Box and Muller 1958); arguments as `uniform`.

    >>> round(normal(1, 0, 5), 12) == round(float(normal_array(1, 0, [5])[0]), 12)
    True
    """
    words = _words(seed, stream, counter)
    if not words:
        return math.nan
    m, e = math.frexp(_fraction(words[0], words[1]))
    if m < SQRT_HALF:
        m, e = 2.0 * m, e - 1
    log = _log(m, float(e))
    x = 4.0 * _fraction(words[2], words[3])
    quadrant = math.floor(x + 0.5)
    cos, sin = _cos_sin(x - quadrant)
    wave = (cos, -sin, -cos, sin, cos)[quadrant]
    return float(math.sqrt(-2.0 * log) * wave)


def _words(seed: float, stream: float, counter: float) -> tuple[int, int, int, int] | None:
    if not (0 <= seed < LARGEST and 0 <= counter < LARGEST and 0 <= stream <= _WORD):
        return None
    s, r, c = int(seed), int(stream), int(counter)
    if s != seed or r != stream or c != counter:
        return None
    return philox4x32((c & _WORD, c >> 32, r, 0), (s & _WORD, s >> 32))


def _fraction(high: Word, low: Word) -> Any:
    """52 random bits and a half: never 0, never 1, and exact in double precision."""
    return ((high >> 6) * 67108864.0 + (low >> 6) + 0.5) * 2.0**-52


def _log(m: Number, e: Number) -> Any:
    """Natural logarithm of m 2ᵉ, for m from √½ to √2."""
    f = (m - 1.0) / (m + 1.0)
    return e * LN2 + f * _series(LOG_SERIES, f * f)


def _cos_sin(r: Number) -> tuple[Number, Number]:
    """Cosine and sine of r quarter turns, for r from -½ to ½."""
    angle = r * HALF_PI
    square = angle * angle
    return _series(COS_SERIES, square), angle * _series(SIN_SERIES, square)


def _series(coefficients: tuple[float, ...], x: Any) -> Any:
    total = coefficients[-1]
    for a in coefficients[-2::-1]:
        total = total * x + a
    return total


def uniform_array(seed: int, stream: int, counters: ArrayLike) -> NDArray[np.float64]:
    """Draw `uniform` numbers for many counters at once; the same numbers, to the last bit.

    >>> bool(uniform_array(7, 2, range(9))[4] == uniform(7, 2, 4))
    True
    """
    words = _word_arrays(seed, stream, counters)
    result: NDArray[np.float64] = _fraction(words[0], words[1])
    return result


def normal_array(seed: int, stream: int, counters: ArrayLike) -> NDArray[np.float64]:
    """Draw `normal` numbers for many counters at once; the same numbers, to the last bit.

    >>> bool(normal_array(7, 2, range(9))[4] == normal(7, 2, 4))
    True
    """
    import numpy as np

    words = _word_arrays(seed, stream, counters)
    m, e = np.frexp(_fraction(words[0], words[1]))
    small = m < SQRT_HALF
    log = _log(np.where(small, 2.0 * m, m), (e - small).astype(float))
    x = 4.0 * _fraction(words[2], words[3])
    quadrant = np.floor(x + 0.5)
    cos, sin = _cos_sin(x - quadrant)
    wave = np.choose(quadrant.astype(np.intp), [cos, -sin, -cos, sin, cos])
    result: NDArray[np.float64] = np.sqrt(-2.0 * log) * wave
    return result


def _word_arrays(
    seed: int, stream: int, counters: ArrayLike
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    given = np.asarray(counters)
    c: Any = given.astype(np.uint64)
    if not (0 <= seed < LARGEST and 0 <= stream <= _WORD and int(seed) == seed and int(stream) == stream):
        raise ValueError(
            f"expected a seed from 0 to 2**53 - 1 and a stream from 0 to 2**32 - 1; found {seed}, {stream}"
        )
    if np.any(given < 0) or np.any(given >= LARGEST) or np.any(c != given):
        raise ValueError("expected counters that are whole numbers from 0 to 2**53 - 1")
    key = int(seed) & _WORD, int(seed) >> 32
    return philox4x32((c & _WORD, c >> 32, np.full_like(c, int(stream)), np.zeros_like(c)), key)
