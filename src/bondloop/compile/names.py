"""Names for generated code: legal in C and in Python, unique, and close to the model's paths."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bondloop.errors import InputError

if TYPE_CHECKING:
    from bondloop.program.expr import Var

__all__ = ["Names", "identifier"]

_RESERVED = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
_Bool _Complex _Imaginary _Alignas _Atomic asm typeof bool true false nullptr constexpr alignas alignof
thread_local static_assert linux unix main NULL

acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor
fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf
nan nearbyint nextafter nexttoward pow remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh
tgamma trunc fpclassify isfinite isinf isnan isnormal signbit isgreater isgreaterequal isless islessequal
islessgreater isunordered gamma drem finite significand signgam scalb j0 j1 jn y0 y1 yn float_t double_t
NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW
UNDERFLOW PLOSS TLOSS X_TLOSS HUGE MAXFLOAT

s p t k i j l n m x y z sum in out row status
line lines channels state states parameters inputs record steps first
period every stopped_at stopped_channel sign uniform normal inf float range abs int len zip enumerate
reversed undo total dense dots few solve solve1 record_rows place old value bound change matrix residual run
kept step scale least size good there rounding weight limited refused regular exact converged warm excess
part shorter law low high middle factor work tears worst newton failed LoopFunctions cells taken last
lane given result one
block begin width column known below count whole solution double_numbers int_numbers
"""
RESERVED = frozenset([*_RESERVED.split(), *keyword.kwlist, *keyword.softkwlist])
"""Words of C and Python, functions and macros of ``math.h``, and names that generated code uses itself."""


def identifier(path: str) -> str:
    """Return a path as an identifier; not yet unique.

    >>> identifier("m2.v.flow"), identifier("x[3]"), identifier("d(a.q)/d(b)"), identifier("ω_n")
    ('m2_v_flow', 'x_3', 'd_a_q_d_b', 'omega_n')
    """
    spelt = path if path.isascii() else "".join(c if c.isascii() else _spelt_out(c) for c in path)
    text = re.sub(r"[^0-9A-Za-z]+", "_", spelt).strip("_") or "v"
    return f"v{text}" if text[0].isdigit() else text


def _spelt_out(character: str) -> str:
    """Greek letters by their names; anything else is a gap."""
    name = unicodedata.name(character, "")
    if "LETTER" not in name:
        return "_"
    letter = name.split("LETTER ")[-1].split(" WITH ")[0].replace(" ", "_")
    return letter if "CAPITAL" in name else letter.lower()


class Names:
    """Identifiers of variables, one each.

    >>> from bondloop.program.expr import Var
    >>> names = Names("demo")
    >>> a, b = Var("m.x"), Var("m_x")
    >>> names(a), names(b), names(a)
    ('m_x', 'm_x_2', 'm_x')
    """

    def __init__(self, model: str) -> None:
        if not (model.isidentifier() and model.isascii()):
            raise InputError(
                f"a tick is named '{model}', which is no C identifier; use letters, digits and '_'"
            )
        self._model = model
        self._taken = set(RESERVED)
        self._of: dict[Var, str] = {}

    def __call__(self, var: Var) -> str:
        """Return the identifier of a variable."""
        found = self._of.get(var)
        if found is None:
            found = self._of[var] = self.fresh(var.name)
        return found

    def assign(self, var: Var, name: str) -> None:
        """Give a variable a fixed name."""
        self._of[var] = name

    def fresh(self, path: str) -> str:
        """Return an identifier that nothing else has."""
        base = identifier(path)
        if base.startswith(
            (f"{self._model}_", "careful_", "MATRIX_", "power")
        ):  # as generated functions are named
            base = f"v_{base}"
        name, i = base, 2
        while name in self._taken:
            name, i = f"{base}_{i}", i + 1
        self._taken.add(name)
        return name

    def all(self, variables: Iterable[Var]) -> list[str]:
        """Return the identifiers of several variables."""
        return [self(v) for v in variables]
