"""Process models of transfer systems: a rational function and a delay (du Bois 2010), one or a matrix."""

# ruff: noqa: RUF009 - the defaults of parameters are descriptors, one for a class

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.bondgraph import TRANSLATION
from bondloop.containers import expect_file
from bondloop.engine import System
from bondloop.engine.data import (
    POSITIVE,
    Described,
    Kind,
    Parameter,
    describable,
    in_seconds,
    number,
    register,
    si_array,
    stamp,
)
from bondloop.engine.ir import Const, Expr, Interface, Program, Var
from bondloop.errors import InputError, SolveError
from bondloop.transfer.held_input import hold_late, linear_recursion, mix
from bondloop.units import multiplied, unit_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray


FORMAT, VERSION = "bondloop process model", 1
"""First entry of a model file."""


class _ProcessFamily(Described, family="process"):
    """Family of the models that can be described and restored."""


@dataclass(frozen=True)
class Process(_ProcessFamily):
    """G(s) = b(s)/a(s) exp(-s delay), from the command to the displacement of a transfer system.

    Coefficients may be texts with units: that of s^k in s^k, or in 1/s^(n - k) where a begins with 1.

    Parameters
    ----------
    numerator, denominator
        Coefficients of b and a, highest power of s first; scaled so that a(0) = 1, or so that a begins with
        1 where a(0) is zero, or nothing beside the others.
    delay
        In seconds.

    Examples
    --------
    >>> G = second_order(gain=1.0, frequency=20.0, damping=0.7, delay=0.005)
    >>> abs(G.response([0.0])[0]).item(), G.order, G.delay
    (1.0, 2, 0.005)
    """

    numerator: tuple[float, ...]
    denominator: tuple[float, ...]
    delay: Parameter = Parameter(0.0, least=0, unit="s")

    def __post_init__(self) -> None:
        above, below = _in_seconds(self.numerator, self.denominator)
        b, a = _coefficients(above, "numerator"), _coefficients(below, "denominator")
        if len(b) > len(a):
            raise InputError(
                f"a process model must be proper: the numerator has degree {len(b) - 1}, the denominator "
                f"only {len(a) - 1}"
            )
        # By the last coefficient, unless that is nothing beside the others: an integrator's.
        most = max(np.abs(a).max(), np.abs(b).max())
        least = most / np.finfo(float).max
        scale = a[-1] if abs(a[-1]) > least else a[0]
        if not abs(scale) > least:
            raise InputError(
                f"a process model needs coefficients that can be compared; found {scale:g} in the "
                f"denominator beside {most:g}"
            )
        object.__setattr__(self, "numerator", tuple(float(x / scale) for x in b))
        object.__setattr__(self, "denominator", tuple(float(x / scale) for x in a))

    # ------------------------------------------------------------------ what it is

    @property
    def order(self) -> int:
        """Degree of the denominator."""
        return len(self.denominator) - 1

    @property
    def relative_degree(self) -> int:
        """Poles less zeros: how many derivatives of the motion its inverse needs."""
        return self.order - (len(self.numerator) - 1)

    @property
    def gain(self) -> float:
        """Static gain: displacement per unit of command at rest."""
        return self.numerator[-1] / self.denominator[-1] if self.denominator[-1] else float("inf")

    def poles(self) -> NDArray[np.complex128]:
        """Roots of a in rad/s, sorted by magnitude."""
        return _roots(self.denominator)

    def zeros(self) -> NDArray[np.complex128]:
        """Roots of b in rad/s, sorted by magnitude."""
        return _roots(self.numerator)

    @property
    def stable(self) -> bool:
        """Whether all poles lie in the left half-plane."""
        return bool(np.all(self.poles().real < 0))

    @property
    def invertible(self) -> bool:
        """Whether the rational part has a stable inverse: all zeros in the left half-plane."""
        return bool(np.all(self.zeros().real < 0))

    def check_invertible(self) -> None:
        """Raise an error that says why the model cannot be inverted, if it cannot."""
        zeros = self.zeros()
        worst = max(zeros, key=lambda z: z.real, default=None)
        scale = max([0.0, *np.abs(self.poles()), *np.abs(zeros)])
        if worst is not None and worst.real >= -1e-9 * scale:
            shown = f"{worst.real:.4g}" if abs(worst.imag) <= 1e-9 * scale else f"{worst:.4g}"
            raise SolveError(
                f"the process model cannot be inverted: its zero at {shown} rad/s is not stable, so the "
                "command would grow without bound; fit a model without zeros, or with a delay instead"
            )

    def response(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Frequency response at each ``frequency`` in Hz."""
        s = 2j * np.pi * si_array(frequency, "frequency", "Hz")
        value = np.polyval(self.numerator, s) / np.polyval(self.denominator, s) * np.exp(-s * self.delay)
        return np.asarray(value, dtype=complex)

    def __str__(self) -> str:
        above, below = _polynomial(self.numerator), _polynomial(self.denominator)
        late = f" exp(-{self.delay:.4g} s)" if self.delay else ""
        return f"({above}) / ({below}){late}"

    def _repr_latex_(self) -> str:
        above, below = _latex(self.numerator), _latex(self.denominator)
        late = f"\\, e^{{-{_number(self.delay)} s}}" if self.delay else ""
        return f"$\\displaystyle G(s) = \\frac{{{above}}}{{{below}}}{late}$"

    # ------------------------------------------------------------------ what it does

    def simulate(
        self, command: ArrayLike, period: float | str, *, hold: str = "zero", before: float = 0.0
    ) -> NDArray[np.float64]:
        """Response to a sampled command, exact for the hold and for any fraction of a period in the delay.

        Parameters
        ----------
        command
            Samples, shape (n,).
        period
            Seconds between them.
        hold
            ``"zero"``: the command keeps its value between samples; ``"first"``: it runs straight on.
        before
            The command before the record. The model rests at it (its static gain times ``before``).

        Examples
        --------
        >>> first_order(2.0, 0.1).simulate([1.0, 1.0, 1.0], 0.1).round(4).tolist()
        [0.0, 1.2642, 1.7293]
        """
        u = np.asarray(command, dtype=float)
        if u.ndim != 1 or not u.size or not np.all(np.isfinite(u)):
            raise InputError(f"the command must be a row of finite samples; found shape {u.shape}")
        period = POSITIVE.check(period, "period", "s")
        if before and not self.denominator[-1]:
            raise InputError("a model with a pole at zero cannot rest at a command that is not zero")
        A, B, C, D, scale = self.scaled_space()
        held = hold_late(A, B, period * scale, self.delay * scale, hold)
        forcing = held.forcing(u - before, 0.0)
        y = mix(held.weights * D, forcing) + (self.gain * before if before else 0.0)
        if self.order:
            y = (
                y
                + linear_recursion(held.transition, held.gains, forcing, np.zeros(self.order), C[None, :])[0]
            )
        return np.asarray(y)

    def scaled_space(
        self,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float, float]:
        """Return A, B, C, D of the rational part in companion form, with time in units of 1/scale.

        State i is the i-th derivative (in scaled time) of the first; the scale [rad/s] makes all entries
        comparable.
        """
        a = np.array(self.denominator[::-1])
        n = self.order
        b = np.zeros(n + 1)
        b[: len(self.numerator)] = self.numerator[::-1]
        scale = float(np.max(np.abs(self.poles()), initial=0.0)) or 1.0
        powers = scale ** np.arange(n + 1.0)
        alpha, beta = a * powers, b * powers
        beta, alpha = beta / alpha[n], alpha / alpha[n]
        D = float(beta[n])
        A = np.eye(n, k=1)
        B = np.zeros(n)
        if n:
            A[-1], B[-1] = -alpha[:n], 1.0
        return A, B, beta[:n] - D * alpha[:n], D, scale

    def actuator(self, pade: int = 0) -> System:
        """Return it as a transfer system for an emulated rig: inputs (command, load), output velocity.

        The displacement is G(s) times the command whatever the load: a perfectly stiff position loop.

        Parameters
        ----------
        pade
            Order of a Padé approximation of the delay. With 0 the delay is left out: give it to the rig, as
            in ``Emulated(physical, G.actuator(), latency=G.delay)``, which delays the command exactly.

        Examples
        --------
        >>> first_order(1.0, 0.01).actuator().inputs
        ('command', 'load')
        """
        if self.relative_degree < 1:
            raise InputError(
                "an actuator needs more poles than zeros: with as many zeros its displacement would jump "
                f"with the command and its velocity be infinite; found {self.order} poles and as many zeros"
            )
        b, a = self._with_pade(pade) if self.delay else (np.array(self.numerator), np.array(self.denominator))
        n = len(a) - 1
        b = np.concatenate([np.zeros(n + 1 - len(b)), b]) / a[0]
        a = a / a[0]
        # Observer form: the first state is the displacement, and its rate is the velocity itself.
        x = [
            Var("displacement", quantity=TRANSLATION.displacement),
            *(Var(f"rest[{i}]") for i in range(1, n)),
        ]
        command = Var("command", quantity=TRANSLATION.displacement)
        load = Var("load", quantity=TRANSLATION.effort)
        values: dict[Var, float | None] = {}
        rates = []
        for i in range(n):
            terms = [(f"a[{n - 1 - i}]", -a[i + 1], x[0]), (f"b[{n - 1 - i}]", b[i + 1], command)]
            rates.append(_rate(x[i + 1] if i + 1 < n else Const(0.0), terms, values))
        velocity = Var("velocity", quantity=TRANSLATION.flow)
        states: dict[Var, Expr] = dict(zip(x, [velocity, *rates[1:]], strict=True))
        outside = Interface(states, (command, load), {"velocity": velocity}, values)
        system = System("actuator", outside, Program({velocity: rates[0]}))
        stamp(system, _ACTUATOR, {"process": self, "pade": pade})
        return system

    def _with_pade(self, pade: int) -> tuple[Any, Any]:
        if pade < 1:
            return np.array(self.numerator), np.array(self.denominator)
        # (sum of (-1)^k c_k s^k) / (sum of c_k s^k), with c_k/c_(k-1) = (N-k+1) delay / (k (2N-k+1))
        c = [1.0]
        for k in range(1, pade + 1):
            c.append(c[-1] * self.delay * (pade - k + 1) / (k * (2 * pade - k + 1)))
        below = np.array(c[::-1])
        above = below * (-1.0) ** np.arange(pade, -1, -1)
        return np.polymul(self.numerator, above), np.polymul(self.denominator, below)

    def factors(self, pade: int) -> tuple[Process, ...]:
        """Return models without a delay whose product it is: the rational part, and the delay as Padé.

        Apart they are better conditioned than their product, where the delay is short beside the poles.

        Parameters
        ----------
        pade
            Order of the approximation of the delay; 0 leaves it out.

        Examples
        --------
        >>> [part.denominator for part in first_order(1.0, 0.01, delay=0.002).factors(1)]
        [(0.01, 1.0), (0.001, 1.0)]
        """
        rest = Process(self.numerator, self.denominator)
        return (
            (rest, Process(*Process((1.0,), (1.0,), self.delay)._with_pade(pade))) if self.delay else (rest,)
        )

    def to_control(self, pade: int = 0) -> Any:
        """Return a python-control ``TransferFunction`` (extra ``control``); ``pade`` poles for a delay."""
        try:
            import control
        except ImportError:
            raise InputError(
                "to_control() needs the package 'control': pip install bondloop[control]"
            ) from None
        if self.delay and pade < 1:
            raise InputError(
                f"python-control has no delays: give pade=4 or so to approximate the delay of {self.delay} s"
            )
        b, a = self._with_pade(pade) if self.delay else (self.numerator, self.denominator)
        return control.tf(np.asarray(b), np.asarray(a), inputs="command", outputs="displacement")

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str], about: Mapping[str, object] | None = None) -> None:
        """Write a model file (JSON), with anything else worth knowing under ``about``.

        Parameters
        ----------
        path
            Where to write it, replacing what is there.
        about
            What JSON can hold; None for nothing.
        """
        content = {"format": FORMAT, "version": VERSION, "model": self.describe(), "about": dict(about or {})}
        Path(path).write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Process:
        """Read a model file at ``path`` that `save` or ``bondloop identify --save`` wrote."""
        try:
            expect_file(Path(path))
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise InputError(f"{path} is no model file: {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f'{path} is no model file: expected JSON with "format": "{FORMAT}"')
        version = content.get("version", 1)
        if isinstance(version, bool) or version != VERSION:
            raise InputError(f"{path} is of version {version!r:.60}; this bondloop reads version {VERSION}")
        return cls.from_description(content.get("model", {}))


def _actuator(process: Process, pade: int = 0) -> System:
    return process.actuator(pade)


_ACTUATOR = register(Kind("system", "actuator", _actuator))


def _rate(start: Expr, terms: Iterable[tuple[str, float, Var]], values: dict[Var, float | None]) -> Expr:
    """Return a sum of variables, whose weights become parameters by their names; ``values`` collects them."""
    total = start
    for name, value, of in terms:
        if value:
            p = Var(name)
            values[p] = float(value)
            total = total + p * of
    return total


def _in_seconds(numerator: ArrayLike, denominator: ArrayLike) -> tuple[ArrayLike, ArrayLike]:
    """Return coefficients of texts as numbers: those of s^k measure s^k, or all of them so much per s^n.

    Those of the numerator may measure a gain besides, as ``"2 mm/V"`` does.
    """
    rows = numerator, denominator
    if not any(isinstance(x, str) for row in rows for x in _entries(row)):
        return rows
    refusal: InputError | None = None
    for scaled in range(max(1, np.size(denominator))):  # a(0) = 1 first, a that begins with 1 last
        try:
            return _with_gain(numerator, scaled), _with_units(denominator, "denominator", scaled)
        except InputError as error:
            refusal = refusal or error
    raise InputError(
        f"{refusal}; the coefficient of s^k is in s^k, or in 1/s^(n - k) where the denominator begins with 1"
    )


def _entries(given: ArrayLike) -> list[object]:
    entries: list[object] = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
    return entries


def _with_powers(given: ArrayLike, scaled: int) -> list[tuple[object, int]]:
    """Return coefficients, each with the power of the second that it measures."""
    return [(x, k - scaled) for k, x in enumerate(reversed(_entries(given)))][::-1]


def _with_units(given: ArrayLike, what: str, scaled: int) -> list[float]:
    return [in_seconds(x, f"Process({what})", power) for x, power in _with_powers(given, scaled)]


def _with_gain(given: ArrayLike, scaled: int) -> list[float]:
    try:
        return _with_units(given, "numerator", scaled)
    except InputError:
        entries = _with_powers(given, scaled)
        told = [(unit_in(x), k) for x, k in entries if isinstance(x, str) and unit_in(x)]
        if not told or any("Hz" in unit for unit, _ in told):
            raise
        unit, power = told[0]
        gain = multiplied(unit, "s", -power)
        return [number(x, "Process(numerator)", multiplied(gain, "s", k) or "1") for x, k in entries]


def _coefficients(given: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        c = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError, OverflowError):
        c = np.empty(0)
    c = np.trim_zeros(c, "f") if c.ndim == 1 else c
    if c.ndim != 1 or not len(c) or not np.all(np.isfinite(c)):
        raise InputError(f"the {what} needs finite coefficients, not all zero; found {given!r:.60}")
    return c


def _roots(coefficients: tuple[float, ...]) -> NDArray[np.complex128]:
    values = np.roots(coefficients).astype(complex)
    return np.asarray(values[np.lexsort((values.imag, np.abs(values)))])


def _polynomial(coefficients: tuple[float, ...]) -> str:
    degree = len(coefficients) - 1
    terms = []
    for i, c in enumerate(coefficients):
        power = degree - i
        if c or not degree:
            terms.append(f"{c:.4g}" + (f" s^{power}" if power > 1 else " s" if power else ""))
    return " + ".join(terms)


@describable("process", remembered=False)
def first_order(gain: float | str, time_constant: float | str, delay: float | str = 0.0) -> Process:
    """Return G1 or G1D of du Bois 2010: K e^(-s delay) / (time_constant s + 1).

    Parameters
    ----------
    gain
        K, the ratio at low frequency.
    time_constant, delay
        In s.

    Examples
    --------
    >>> first_order(1.0, 0.01).denominator
    (0.01, 1.0)
    """
    tau, late = number(time_constant, "time_constant", "s"), number(delay, "delay", "s")
    return Process((number(gain, "gain"),), (tau, 1.0), late)


@describable("process", remembered=False)
def second_order(
    gain: float | str, frequency: float | str, damping: float | str, delay: float | str = 0.0
) -> Process:
    """Return G2 or G2D of du Bois 2010, with a static gain.

    The paper writes K/(s^2 + 2 zeta w0 s + w0^2) and calls K the static gain; that holds for
    K w0^2 in the numerator, as here.

    Parameters
    ----------
    gain
        Static gain.
    frequency
        Undamped natural frequency in Hz.
    damping
        Damping ratio.
    delay
        In seconds.
    """
    w = 2 * np.pi * number(frequency, "frequency", "Hz")
    if not w > 0:
        raise InputError(f"the natural frequency must be positive; found {frequency} Hz")
    ratio, late = number(damping, "damping", "1"), number(delay, "delay", "s")
    return Process((number(gain, "gain"),), (1 / w**2, 2 * ratio / w, 1.0), late)


def _number(value: float) -> str:
    r"""Write a number for LaTeX.

    >>> _number(0.25), _number(1.5e-7)
    ('0.25', '1.5 \\cdot 10^{-7}')
    """
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _latex(coefficients: Sequence[float]) -> str:
    r"""Write a polynomial in s for LaTeX.

    >>> _latex((2.0, -1.0, 0.0, 1.0))
    '2 s^{3} - s^{2} + 1'
    >>> _latex((0.0,))
    '0'
    """
    terms = ""
    for power, value in zip(range(len(coefficients) - 1, -1, -1), coefficients, strict=True):
        if not value:
            continue
        letter = f"s^{{{power}}}" if power > 1 else "s" if power else ""
        size = "" if abs(value) == 1 and letter else _number(abs(value))
        terms += (" - " if value < 0 else " + ") + f"{size} {letter}".strip()
    if not terms:
        return "0"
    return terms.removeprefix(" + ") if not terms.startswith(" - ") else f"-{terms[3:]}"


@dataclass(frozen=True)
class ProcessMatrix(Described, member_of="process"):
    """G(s), from the commands to the displacements of actuators that move each other.

    Parameters
    ----------
    entries
        Rows of process models: ``entries[i][j]`` is what command j does to displacement i.

    Examples
    --------
    >>> from bondloop.transfer import first_order
    >>> G = ProcessMatrix(
    ...     (
    ...         (first_order(1.0, 0.01), first_order(0.1, 0.01)),
    ...         (first_order(0.2, 0.02), first_order(0.9, 0.02)),
    ...     )
    ... )
    >>> G.response([0.0])[0].real.tolist()
    [[1.0, 0.1], [0.2, 0.9]]
    """

    entries: tuple[tuple[Process, ...], ...]

    def __post_init__(self) -> None:
        rows: Iterable[Iterable[object]] = self.entries
        try:
            entries = tuple(tuple(row) for row in rows)
        except TypeError:
            entries = ()
        if not entries or any(len(row) != len(entries) for row in entries):
            raise InputError(
                "ProcessMatrix(entries): expected as many rows as columns, ((G11, G12), (G21, G22)); found "
                f"{self.entries!r:.60}"
            )
        for row in entries:
            for entry in row:
                if not isinstance(entry, Process):
                    raise InputError(
                        "ProcessMatrix(entries): expected process models, such as first_order(gain, "
                        f"time_constant); found {type(entry).__name__}"
                    )
        object.__setattr__(self, "entries", entries)

    def __len__(self) -> int:
        return len(self.entries)

    def response(self, frequency: ArrayLike) -> NDArray[np.complex128]:
        """Frequency response at each ``frequency`` in Hz, shape (frequencies, rows, columns)."""
        rows = [np.stack([entry.response(frequency) for entry in row], axis=-1) for row in self.entries]
        return np.stack(rows, axis=-2)

    def actuator(self, pade: int = 0) -> System:
        """Return it as a coupled transfer system for an emulated rig.

        The displacements are G(s) times the commands whatever the loads: perfectly stiff position loops.
        Entries of one column with the same poles share their states.

        Parameters
        ----------
        pade
            Order of a Padé approximation of the entries' delays. With 0 they are left out; one that all
            entries share can be given to the rig, ``Emulated(physical, G.actuator(), latency=delay)``.

        Examples
        --------
        >>> from bondloop.transfer import first_order
        >>> G = ProcessMatrix(
        ...     (
        ...         (first_order(1.0, 0.01), first_order(0.1, 0.01)),
        ...         (first_order(0.2, 0.02), first_order(0.9, 0.02)),
        ...     )
        ... )
        >>> G.actuator().inputs
        ('command[0]', 'command[1]', 'load[0]', 'load[1]')
        """
        late = {entry.delay for row in self.entries for entry in row}
        if pade < 1 and len(late) > 1:
            raise InputError(
                f"ProcessMatrix.actuator: entries are {min(late):g} to {max(late):g} s late, and without "
                "pade their delays would be left out; give pade=2 or so, or one delay to all and to the rig"
            )
        A, B, C = self._space(pade)
        # The displacements themselves are the first states, so that the rig has no integrals beside them.
        rest = np.linalg.svd(C)[2][len(self) :]
        T = np.vstack([C, rest])
        inverse = np.linalg.inv(T)
        A, B = T @ A @ inverse, T @ B
        n, d = len(self), TRANSLATION
        x, commands, loads, velocities = (
            [Var(f"{word}[{i}]", quantity=quantity) for i in range(n)]
            for word, quantity in (
                ("displacement", d.displacement), ("command", d.displacement), ("load", d.effort),
                ("velocity", d.flow),
            )
        )  # fmt: skip
        x += [Var(f"rest[{i}]") for i in range(len(rest))]
        values: dict[Var, float | None] = {}
        rates = []
        for i in range(len(x)):
            terms = [(f"A[{i},{j}]", value, x[j]) for j, value in enumerate(A[i])]
            terms += [(f"B[{i},{j}]", value, commands[j]) for j, value in enumerate(B[i])]
            rates.append(_rate(Const(0.0), terms, values))
        states = dict(zip(x, [*velocities, *rates[n:]], strict=True))
        outside = Interface(states, (*commands, *loads), {v.name: v for v in velocities}, values)
        system = System("actuators", outside, Program(dict(zip(velocities, rates[:n], strict=True))))
        stamp(system, _ACTUATORS, {"process": self, "pade": pade})
        return system

    def _space(self, pade: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return A, B, C: companion forms side by side, one for every denominator of a column."""
        blocks: list[tuple[NDArray[np.float64], int, dict[int, NDArray[np.float64]]]] = []
        for j in range(len(self)):
            shared: dict[tuple[float, ...], dict[int, NDArray[np.float64]]] = {}
            for i, row in enumerate(self.entries):
                G = row[j]
                b, a = G._with_pade(pade) if G.delay else (np.array(G.numerator), np.array(G.denominator))
                if len(b) >= len(a) and b.any():
                    raise InputError(
                        "an actuator needs more poles than zeros: with as many zeros its displacement would "
                        f"jump with the command; found {len(a) - 1} poles and as many zeros in entry "
                        f"({i + 1}, {j + 1})"
                    )
                shared.setdefault(tuple((a / a[0]).tolist()), {})[i] = b / a[0]
            blocks += [(np.array(a), j, rows) for a, rows in shared.items() if len(a) > 1]
        size = sum(len(a) - 1 for a, _, _ in blocks)
        A, B, C = np.zeros((size, size)), np.zeros((size, len(self))), np.zeros((len(self), size))
        at = 0
        for a, j, rows in blocks:
            n = len(a) - 1
            scale = float(np.abs(np.roots(a)).max(initial=0.0)) or 1.0  # states of one size
            powers = scale ** np.arange(n + 1.0)
            k = slice(at, at + n)
            A[k, k] = scale * np.eye(n, k=1)
            A[at + n - 1, k] = -scale * (a / powers)[:0:-1]
            B[at + n - 1, j] = scale
            for i, b in rows.items():
                C[i, k] = (np.concatenate([np.zeros(n + 1 - len(b)), b]) / powers)[:0:-1]
            at += n
        if np.linalg.matrix_rank(C) < len(self):
            raise InputError(
                "ProcessMatrix: some displacement is always a fixed multiple of the others, so the actuators "
                "cannot move the interface everywhere; found rows that depend on each other"
            )
        return A, B, C


def _actuators(process: ProcessMatrix, pade: int = 0) -> System:
    return process.actuator(pade)


_ACTUATORS = register(Kind("system", "actuators", _actuators))
