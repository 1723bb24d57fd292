"""What an identification leaves uncertain, to be drawn from: its covariance becomes a distribution."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.containers import expect_file
from bondloop.errors import InputError
from bondloop.identify.models import BondGraphFit
from bondloop.identify.process import ProcessFit, Ranking, Structure, structure
from bondloop.studies.distributions import Correlated, Distribution
from bondloop.transfer import Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


class UncertainProcess(Correlated):
    """An actuator of which the coefficients are drawn as an identification leaves them uncertain.

    Parameters
    ----------
    kind
        Which process model: poles, zeros, delay.
    process
        The model that was identified.
    values
        All its parameters as the identification reports them, by name.
    distributions, correlation
        Of those that are uncertain.
    pade
        As of `Process.actuator`.
    """

    def __init__(
        self,
        kind: Structure,
        process: Process,
        values: Mapping[str, float],
        distributions: Mapping[str, Distribution | str],
        correlation: NDArray[np.float64],
        pade: int,
    ) -> None:
        super().__init__(distributions, correlation)
        self.kind, self.process, self.values = kind, process, dict(values)
        # What follows gain and zeros, as `Structure.reported` tells them: no stable model has it negative.
        self._positive = frozenset(list(self.values)[kind.positive.start :])
        self.pade = pade if process.delay else 0  # as `Process.actuator`, which has no delay to approximate
        self.names = tuple(v.name for v in process.actuator(pade).parameters_by_var)

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of `Process.actuator`, (names, tests).

        Parameters
        ----------
        shares
            From 0 to 1, (size, tests).
        """
        rows = dict(zip(self.distributions, super().at(shares), strict=True))
        count = np.shape(shares)[1]
        told = {name: rows.get(name, np.full(count, value)) for name, value in self.values.items()}
        for name, drawn in rows.items():
            if name in self._positive and not drawn.min() > 0:
                raise InputError(
                    f"the identified {name}, {self.distributions[name]}, reaches {drawn.min():.4g}: its data "
                    "hardly determine it. Draw no further than a few deviations, "
                    "from_identified(..., within=2)"
                )
        above, below = coefficients(self.kind, told, self.pade)
        first = below[-1]
        by_name = {f"a[{i}]": -row / first for i, row in enumerate(below[:-1])}
        by_name |= {f"b[{i}]": row / first for i, row in enumerate(above)}
        return np.array([by_name[name] for name in self.names])


Polynomial = list["NDArray[np.float64]"]
"""Coefficients, lowest power first; each is an array with one value for every test."""


def coefficients(
    kind: Structure, told: Mapping[str, NDArray[np.float64]], pade: int
) -> tuple[Polynomial, Polynomial]:
    """Return numerators and denominators of many models, from parameters as `Structure.reported` tells them.

    Parameters
    ----------
    kind
        Which process model.
    told
        Parameters by name.
    pade
        Order of the approximation of the delay; 0 leaves it out.
    """
    names = iter(told)
    gain = told[next(names)]
    above = [gain, *(gain * told[next(names)] for _ in range(kind.zeros))]
    below: Polynomial = [np.ones_like(gain)]
    if kind.poles % 2:
        below = _times(below, [np.ones_like(gain), told[next(names)]])
    for _ in range(kind.poles // 2):
        w, ratio = 2 * np.pi * told[next(names)], told[next(names)]
        below = _times(below, [np.ones_like(gain), 2 * ratio / w, 1 / w**2])
    if kind.delay and pade:
        late, c = told[next(names)], [np.ones_like(gain)]
        for k in range(1, pade + 1):  # as `Process.actuator`
            c.append(c[-1] * late * (pade - k + 1) / (k * (2 * pade - k + 1)))
        above = _times(above, [x * (-1.0) ** k for k, x in enumerate(c)])
        below = _times(below, c)
    return above, below


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    product = [np.zeros_like(a[0]) for _ in range(len(a) + len(b) - 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] = product[i + j] + x * y
    return product


def from_identified(
    fit: ProcessFit | BondGraphFit | Ranking, *, pade: int = 0, within: float = math.inf
) -> Correlated:
    """Return what an identification leaves uncertain: its parameters, drawn together by their covariance.

    Parameters
    ----------
    fit
        Of `bl.identify`: a process model (`fit_time`, `fit_frequency`), of a ranking the one to take, or the
        parameters of a bond graph (`fit_bond_graph`).
    pade
        As given to ``fit.process.actuator(pade)`` in the test. With 0 the delay is the rig's latency, which
        is built into the test and not drawn.
    within
        Draw no further than so many standard deviations.

    Examples
    --------
    Under the path of the actuator in the test, ``sample(test, {"rig.transfer": from_identified(fit)}, ...)``.

    >>> from bondloop.identify import fit_time
    >>> from bondloop.transfer import second_order
    >>> random = np.random.default_rng(1)
    >>> u = np.cumsum(random.normal(size=2000)) * 1e-3
    >>> y = second_order(1.0, 12.0, 0.7).simulate(u, 1e-3) + 1e-4 * random.normal(size=2000)
    >>> from_identified(fit_time(u, y, 1e-3, "G2")).names
    ('a[1]', 'a[0]', 'b[0]')
    """
    if isinstance(fit, Ranking):
        fit = fit.recommended
    if not isinstance(fit, (ProcessFit, BondGraphFit)):
        raise InputError(
            "expected what bl.identify fitted: a process model or the parameters of a bond graph; "
            f"found {type(fit).__name__}"
        )
    values = {name: e.value for name, e in fit.parameters.items()}
    drawn, correlation = _uncertain(values, np.asarray(fit.covariance), within)
    if isinstance(fit, BondGraphFit):
        return Correlated(drawn, correlation)
    return UncertainProcess(fit.structure, fit.process, values, drawn, correlation, pade)


def _uncertain(
    values: Mapping[str, float], covariance: NDArray[np.float64], within: float
) -> tuple[dict[str, Distribution | str], NDArray[np.float64]]:
    """Return the distributions of what is uncertain, and their correlations."""
    if not within > 0:
        raise InputError(f"within: expected a number of standard deviations above 0; found {within}")
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    free = np.flatnonzero(deviation)
    if not free.size:
        raise InputError("the identification leaves nothing uncertain: all its parameters are at bounds")
    names = list(values)
    drawn: dict[str, Distribution | str] = {}
    for i in free:
        mean, spread = values[names[i]], float(deviation[i])
        reach = within * spread
        drawn[names[i]] = Distribution("normal", mean, spread, mean - reach, mean + reach)
    correlation = (covariance / np.outer(deviation, deviation).clip(np.finfo(float).tiny))[np.ix_(free, free)]
    correlation = np.clip((correlation + correlation.T) / 2, -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    return drawn, correlation


def identified_file(path: str | Path, *, pade: int = 0, within: float = math.inf) -> Correlated:
    """Return what a model file of ``bondloop identify`` leaves uncertain.

    Parameters
    ----------
    path
        Of the file.
    pade, within
        As of `from_identified`.
    """
    process = Process.load(path)
    expect_file(Path(path))
    about: Any = json.loads(Path(path).read_text(encoding="utf-8")).get("about", {})
    try:
        values = {name: float(e["value"]) for name, e in about["parameters"].items()}
        covariance = np.array(about["covariance"], dtype=float)
        kind = structure(str(about["model"]))
        good = covariance.shape == (len(values), len(values)) and bool(np.isfinite(covariance).all())
        good = good and len(values) == kind.size and process.order == kind.poles
        good = good and len(process.numerator) == kind.zeros + 1
    except (KeyError, TypeError, ValueError, AttributeError):
        good = False
    if not good:
        raise InputError(
            f"{path} does not say how uncertain its parameters are (covariance); "
            "write it anew with bondloop identify"
        )
    drawn, correlation = _uncertain(values, covariance, within)
    return UncertainProcess(kind, process, values, drawn, correlation, pade)
