"""A fitted process model and what is known about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import brief, notebook, paragraph, table
from bondloop.identify.confidence import covariance, estimates, freedom
from bondloop.transfer import dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.identify.confidence import Estimate, ResidualTests
    from bondloop.identify.least_squares import Minimum
    from bondloop.identify.process.structure_selection import Structure
    from bondloop.transfer import Process


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

    structure: Structure
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
                name: {
                    "value": e.value, "deviation": e.deviation, "low": e.low, "high": e.high, "unit": e.unit,
                    "at_bound": e.at_bound,
                }
                for name, e in self.parameters.items()
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

    def _repr_html_(self) -> str:
        rows = [(name, str(estimate)) for name, estimate in self.parameters.items()]
        return notebook(
            f"{self.name}: fit {self.fit:.2f} %, rms error {self.rms:.4g}",
            [
                paragraph(str(self.process)), table(("parameter", "estimate"), rows),
                paragraph(str(self.tests)) if self.tests else "",
                *(paragraph(f"Warning: {w}") for w in self.warnings),
            ],
        )  # fmt: skip

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
    structure: Structure,
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
