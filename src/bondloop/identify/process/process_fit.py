"""A process model to fit, its structure and coordinates; and a fitted one, with what is known about it."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief
from bondloop.errors import InputError
from bondloop.identify.least_squares import covariance, estimates, freedom
from bondloop.identify.tolerances import MOST_POLES
from bondloop.transfer import Process, dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.least_squares import Estimate, Minimum, ResidualTests

    Array = NDArray[np.float64]


@dataclass(frozen=True)
class ModelStructure:
    """K (1 + b1 s + ...) e^(-s delay) / (a product of first- and second-order factors).

    Every denominator is a product of factors ``1 + d s + c s^2`` and, for an odd number of poles, one
    ``1 + T s``; it is stable exactly if all c, d and T are positive, so bounds keep a fit stable. The
    coordinates of a fit are (K, b1, ..., T, d1, c1, ..., delay); what is reported is derived from them:
    a factor of second order has a frequency 1/(2 pi sqrt(c)) and a damping ratio d/(2 sqrt(c)).

    Parameters
    ----------
    poles, zeros
        How many; fewer zeros than poles.
    delay
        Whether a delay is fitted.

    Examples
    --------
    >>> second = ModelStructure(2, delay=True)
    >>> second.name, second.size
    ('G2D', 4)
    >>> print(second.process(np.array([1.0, 0.01, 1e-4, 0.005])))
    (1) / (0.0001 s^2 + 0.01 s + 1) exp(-0.005 s)
    """

    poles: int
    zeros: int = 0
    delay: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.poles <= MOST_POLES:
            raise InputError(f"a process model to fit needs 1 to {MOST_POLES} poles; found {self.poles}")
        if not 0 <= self.zeros < self.poles:
            raise InputError(
                f"a process model to fit needs fewer zeros than poles, or it is improper or its response "
                f"jumps with the command; found {self.zeros} zeros and {self.poles} poles"
            )

    @property
    def name(self) -> str:
        """The name of du Bois 2010 for G1, G2, G1D, G2D; otherwise the counts, in words."""
        if self.zeros == 0 and self.poles <= 2:
            return f"G{self.poles}{'D' if self.delay else ''}"
        words = [_count(self.poles, "pole")]
        words += [_count(self.zeros, "zero")] if self.zeros else []
        return ", ".join(words + (["delay"] if self.delay else []))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return 1 + self.zeros + self.poles + self.delay

    @property
    def positive(self) -> slice:
        """Where the denominator's coordinates stand."""
        return slice(1 + self.zeros, 1 + self.zeros + self.poles)

    @property
    def squares(self) -> range:
        """Which of them are coefficients of s^2."""
        return range(self.positive.start + self.poles % 2 + 1, self.positive.stop, 2)

    def bounds(
        self, fastest: float, slowest: float, longest: float, *, fastest_pair: float | None = None
    ) -> tuple[Array, Array]:
        """Return bounds of the coordinates, by time constants in s.

        Parameters
        ----------
        fastest, slowest
            Time constants of the fastest and the slowest pole.
        longest
            The longest delay.
        fastest_pair
            Time constant of the fastest pair of poles, where it differs.
        """
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        low[self.positive], high[self.positive] = fastest, slowest
        for place in self.squares:
            low[place], high[place] = (fastest_pair or fastest) ** 2, slowest**2
        if self.delay:
            low[-1], high[-1] = 0.0, longest
        return low, high

    def polynomials(self, theta: Array) -> tuple[Array, Array, float]:
        """Return b and a (lowest power first, a(0) = 1) and the delay.

        Parameters
        ----------
        theta
            Coordinates of a fit, shape (size,), in the order that the class states.
        """
        b = theta[0] * np.concatenate([[1.0], theta[1 : 1 + self.zeros]])
        a = np.ones(1)
        for factor, _ in self._factors(theta):
            a = np.convolve(a, factor)
        return b, a, float(theta[-1]) if self.delay else 0.0

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """Return db/dtheta, shape (zeros + 1, size), and da/dtheta, shape (poles + 1, size).

        Parameters
        ----------
        theta
            Coordinates of a fit, shape (size,), in the order that the class states.
        """
        db, da = np.zeros((self.zeros + 1, self.size)), np.zeros((self.poles + 1, self.size))
        db[:, 0] = np.concatenate([[1.0], theta[1 : 1 + self.zeros]])
        for j in range(1, self.zeros + 1):
            db[j, j] = theta[0]
        factors = self._factors(theta)
        for i, (factor, first) in enumerate(factors):
            others = np.ones(1)
            for j, (other, _) in enumerate(factors):
                others = np.convolve(others, other) if j != i else others
            for power in range(1, len(factor)):
                da[power : power + len(others), first + power - 1] = others
        return db, da

    def _factors(self, theta: Array) -> list[tuple[Array, int]]:
        """Return the denominator's factors, each with the place of its first coordinate."""
        place, found = 1 + self.zeros, []
        for degree in [1] * (self.poles % 2) + [2] * (self.poles // 2):
            found.append((np.concatenate([[1.0], theta[place : place + degree]]), place))
            place += degree
        return found

    def process(self, theta: Array) -> Process:
        """Return the model of these coordinates.

        Parameters
        ----------
        theta
            Coordinates of a fit, shape (size,), in the order that the class states.
        """
        b, a, delay = self.polynomials(theta)
        return Process(tuple(b[::-1]), tuple(a[::-1]), delay)

    def coordinates(self, b: Array, a: Array, delay: float) -> Array:
        """Return the coordinates of given polynomials (lowest power first); unstable poles are reflected.

        Parameters
        ----------
        b, a
            Numerator and denominator, of no more zeros and poles than the structure has.
        delay
            In s; left out where the structure has none.
        """
        b, a = np.asarray(b, dtype=float) / a[0], np.asarray(a, dtype=float) / a[0]
        poles = np.roots(a[::-1]) if len(a) > 1 else np.zeros(0, complex)
        poles = np.concatenate([poles, np.full(self.poles - len(poles), -1e12)])
        poles = -np.abs(poles.real) + 1j * poles.imag
        real = sorted(poles[np.abs(poles.imag) < 1e-9 * np.abs(poles)].real, key=abs)
        pairs = [p for p in poles if p.imag >= 1e-9 * abs(p)]
        gain = b[0] or 1e-12
        theta = [gain, *(b[1:] / gain), *[0.0] * (self.zeros + 1 - len(b))]
        if self.poles % 2:
            theta.append(-1 / real.pop(0))
        for p in pairs:
            theta += [-2 * p.real / abs(p) ** 2, 1 / abs(p) ** 2]
        for p, q in zip(real[::2], real[1::2], strict=True):
            theta += [-1 / p - 1 / q, 1 / (p * q)]
        return np.array([*theta, delay] if self.delay else theta, dtype=float)

    def reported(self, theta: Array) -> tuple[dict[str, float], dict[str, str], Array]:
        """Return what is told of the coordinates: values and units by name, and their Jacobian.

        Parameters
        ----------
        theta
            Coordinates of a fit, shape (size,), in the order that the class states.
        """
        values: dict[str, float] = {"gain": float(theta[0])}
        units, rows = {"gain": ""}, [np.eye(self.size)[0]]

        def put(name: str, unit: str, value: float, slopes: dict[int, float]) -> None:
            values[name], units[name] = float(value), unit
            row = np.zeros(self.size)
            for place, slope in slopes.items():
                row[place] = slope
            rows.append(row)

        for j in range(1, self.zeros + 1):
            name = "zero_time_constant" if self.zeros == 1 else f"numerator_{j}"
            put(name, "s" if j == 1 else f"s^{j}", theta[j], {j: 1.0})
        number = 0
        for factor, place in self._factors(theta):
            if len(factor) == 2:
                put("time_constant", "s", theta[place], {place: 1.0})
                continue
            number += 1
            end = f"_{number}" if self.poles > 3 else ""
            d, c = theta[place], theta[place + 1]
            root = math.sqrt(c)
            put(f"frequency{end}", "Hz", 1 / (2 * np.pi * root), {place + 1: -1 / (4 * np.pi * c * root)})
            put(f"damping{end}", "", d / (2 * root), {place: 1 / (2 * root), place + 1: -d / (4 * c * root)})
        if self.delay:
            put("delay", "s", theta[-1], {self.size - 1: 1.0})
        return values, units, np.array(rows)


def structure(given: ModelStructure | str) -> ModelStructure:
    """Return the structure that a name or a phrase means.

    Examples
    --------
    >>> structure("G2D")
    ModelStructure(poles=2, zeros=0, delay=True)
    >>> structure("3 poles, 1 zero, delay").name
    '3 poles, 1 zero, delay'
    >>> structure("2+delay") == structure("G2D")
    True
    """
    if isinstance(given, ModelStructure):
        return given
    text: str = " ".join(given.lower().replace("+", " + ").split())
    short = re.fullmatch(r"g([1-9])(d?)", text)
    if short:
        return ModelStructure(int(short[1]), 0, bool(short[2]))
    long = re.fullmatch(
        r"(\d+)(?: ?poles?)?(?:(?:,| \+| and)? ?(\d+) ?zeros?)?((?:,| \+| and)? ?(?:with |a )*delay)?", text
    )
    if long is None:
        raise InputError(
            f"cannot tell which model {given!r} means; expected G1, G2, G1D, G2D, 'auto', or a phrase "
            "such as '3 poles, 1 zero, delay'"
        )
    return ModelStructure(int(long[1]), int(long[2] or 0), bool(long[3]))


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'s' if n != 1 else ''}"


@dataclass(frozen=True, eq=False)
class ProcessFit:
    """A process model fitted to data.

    Attributes
    ----------
    structure, process
        Which kind of model, and the model.
    parameters
        Each parameter by name, with its confidence interval.
    covariance
        Of the parameters, in their order.
    domain
        ``"time"`` or ``"frequency"``.
    measured, predicted, residual
        The data that took part, the model's response to them, and the difference; in the frequency domain
        complex, before weighting.
    cost
        Weighted sum of squared residuals.
    samples
        Real numbers that took part.
    nuisance
        Parameters fitted besides: an offset, the state at the beginning of the record.
    fit
        100 (1 - rms residual / rms of the data about their mean): 100 % is perfect.
    tests
        Tests of the residuals (time domain).
    warnings
        What is doubtful.
    """

    structure: ModelStructure
    process: Process
    parameters: dict[str, Estimate]
    covariance: NDArray[np.float64]
    domain: str
    measured: NDArray[Any]
    predicted: NDArray[Any]
    residual: NDArray[Any]
    cost: float
    samples: int
    nuisance: int
    fit: float
    tests: ResidualTests | None
    warnings: tuple[str, ...] = ()

    __repr__ = brief
    _repr_html_ = as_text

    @property
    def name(self) -> str:
        """The model's name."""
        return self.structure.name

    @property
    def rms(self) -> float:
        """Root mean square of the residual, in the output's unit."""
        return float(np.sqrt(np.mean(np.abs(self.residual) ** 2)))

    @property
    def size(self) -> int:
        """Number of parameters of the model."""
        return self.structure.size

    def aic(self, effective: float | None = None) -> float:
        """Akaike's criterion N log(cost/N) + 2 p; ``effective`` is what N coloured residuals are worth."""
        return information(self.cost, self.samples, self.size + self.nuisance, effective)[0]

    def bic(self, effective: float | None = None) -> float:
        """Schwarz's criterion N log(cost/N) + p log N, where ``effective``, if given, stands for N."""
        return information(self.cost, self.samples, self.size + self.nuisance, effective)[1]

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as a dictionary that fits into JSON."""
        return {
            "model": self.name,
            "process": self.process.describe(),
            "parameters": {
                name: asdict(e) for name, e in self.parameters.items()
            },
            "covariance": self.covariance.tolist(),
            "fit": self.fit,
            "rms": self.rms,
            "aic": self.aic(),
            "bic": self.bic(),
            "samples": self.samples,
            "whiteness": self.tests.whiteness if self.tests else None,
            "independence": self.tests.independence if self.tests else None,
            "warnings": list(self.warnings),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.process}", f"fit {self.fit:.2f} %, rms error {self.rms:.4g}"]
        lines += [f"  {name:<20} {estimate}" for name, estimate in self.parameters.items()]
        lines += [str(self.tests)] if self.tests else []
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])


def information(cost: float, samples: int, size: int, effective: float | None) -> tuple[float, float]:
    """Return Akaike's and Schwarz's criteria."""
    n = samples if effective is None else effective
    error = n * math.log(max(cost / samples, 1e-300))
    return error + 2 * size, error + size * math.log(n)


def process_fit(
    structure: ModelStructure,
    found: Minimum,
    *,
    domain: str,
    measured: NDArray[Any],
    predicted: NDArray[Any],
    nuisance: int,
    tests: ResidualTests | None,
    warnings: list[str],
) -> ProcessFit:
    """Return the fit that an optimum means."""
    white = tests is None or tests.white
    values, units, slopes = structure.reported(found.theta)
    free = ~found.at_bound
    inner = covariance(found.jacobian, found.residual, white=white, free=free, besides=nuisance)
    left = freedom(found.residual, int(free.sum()) + nuisance, white=white)
    spread = slopes @ inner @ slopes.T
    held = (np.abs(slopes) > 0) @ found.at_bound
    residual = measured - predicted
    about = _size(measured - (measured.mean() if domain == "time" else 0.0))
    parameters = estimates(values, units, spread, left, held)
    stuck = [name for name, e in parameters.items() if e.at_bound and not (name == "delay" and e.value == 0)]
    if stuck:
        warnings.append(
            f"{structure.name}: {', '.join(stuck)} ran into a bound: the data do not ask for this "
            "parameter, or the bound is too narrow"
        )
    if not found.converged:
        warnings.append(f"{structure.name}: the fit did not settle; its parameters are uncertain")
    return ProcessFit(
        structure=structure,
        process=structure.process(found.theta),
        parameters=parameters,
        covariance=spread,
        domain=domain,
        measured=measured,
        predicted=predicted,
        residual=residual,
        cost=found.cost,
        samples=found.residual.size,
        nuisance=nuisance,
        fit=100 * (1 - _size(residual) / about) if about else 0.0,
        tests=tests,
        warnings=tuple(warnings),
    )


def _size(values: NDArray[Any]) -> float:
    return math.sqrt(dot(values.real, values.real) + dot(values.imag, values.imag))
