"""What is uncertain about a test: every parameter that is drawn, and how."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from bondloop.containers import expect_file
from bondloop.engine.data import checked_value, number
from bondloop.engine.passes import built_unread, values_read
from bondloop.errors import InputError, unknown_name
from bondloop.identify.models import BondGraphFit
from bondloop.identify.process import ModelStructure, ProcessFit, Ranking, structure
from bondloop.rigs import SEED
from bondloop.studies.distributions import Correlated, Distribution, between_commas, distribution
from bondloop.transfer import Process

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine.ir import Tick
    from bondloop.studies.rehearsals import Tested

    Given = Mapping[str, "Distribution | Correlated | str"]
    Built = TypeVar("Built", bound=Tested)


class Uncertainty:
    """What is drawn for a test.

    Parameters
    ----------
    given
        By the path of a parameter, or of a state that begins otherwise; what is drawn together by the path
        under which its parameters are.
    test
        A `HybridTest`, or anything else that has a tick.
    rebuild
        Whether tests may be built anew for values that are not data of the tick; they are refused otherwise.
    make
        Makes the test with other options, by name, that are no parameters of it.

    Attributes
    ----------
    parts
        What is drawn, by the path that was given.
    owners
        How each parameter is drawn, by its path.
    size
        How many numbers are drawn for a test.
    rebuilt
        Names of what is not data of the tick.
    """

    def __init__(
        self,
        given: Given,
        test: Tested,
        *,
        rebuild: bool = False,
        make: Callable[[Mapping[str, float]], Tested] | None = None,
    ) -> None:
        self._test, self._make, self._rebuild = test, make, rebuild
        self.rebuilt: list[str] = []
        self._settable: dict[str, float] = {}
        self._special: set[str] = set()
        self.tick: Tick = test.tick
        self._by_name = {v.name: v for v in self.tick.parameters}
        self._states = [v.name for v in self.tick.states]
        self.parts: dict[str, Distribution | Correlated] = {}
        self.owners: dict[str, Distribution | Correlated] = {}
        for path, what in given.items():
            part = self._read(path, what)
            for name in _names(path, part):
                if name in self.owners:
                    raise InputError(f"each parameter is drawn once; found {name} twice")
                self._expect(name)
                self.owners[name] = part
            self.parts[path] = part
        if not self.parts:
            raise InputError("nothing is varied; give at least one distribution")
        self.size = sum(_size(part) for part in self.parts.values())
        self._refuse_or_rebuild()

    def _read(self, path: str, what: object) -> Distribution | Correlated:
        if isinstance(what, str):
            known = self._by_name[path].range if path in self._by_name else None
            return _from_text(what, path, self._units, known.units if known else ())
        if not isinstance(what, (Distribution, Correlated)):
            raise InputError(f"{path}: expected a distribution, such as 'normal(1, 5%)'; found {what!r}")
        return what

    def _units(self, name: str) -> Sequence[str]:
        known = self._by_name[name].range if name in self._by_name else None
        return known.units if known else ()

    def _expect(self, name: str) -> None:
        if name not in self._by_name and name not in self._states and self._make is None:
            known = [*self._by_name, *self._states]
            if name == SEED:
                raise InputError(f"{SEED}: the rig of {self.tick.name} has no noise of which to draw a seed")
            raise InputError(
                f"{unknown_name('parameter', name, known, self.tick.name)}; what decides how a test "
                "is built, such as a latency, is drawn by `bondloop study`, and where sample() is told how "
                "to make= the test"
            )

    def tick_with(self, values: Mapping[str, float]) -> Tick:
        """Return the tick of the test that is built with other values, by name; raise `ValueRead` otherwise.

        Values of what is data are not read by what builds it: its form is the same whatever they are.

        Parameters
        ----------
        values
            Of what is not data of the tick: options of the test, and parameters.
        """
        data = {name: x for name, x in self._settable.items() if name not in self.rebuilt}

        def build() -> Tick:
            return built(self._test, self._make, {**values, **data}).tick

        return built_unread(build, data, self._special)

    def _refuse_or_rebuild(self) -> None:
        """See what is no data of the tick, since the test is built from it: a matrix, a mode, a first state.

        Of what the tick alone has, such as a switch's set point, nothing is built.
        """
        seeds = self.owners.get(SEED)
        if seeds is not None and not (isinstance(seeds, Distribution) and seeds.kind == "whole"):
            raise InputError(f"{SEED}: seeds are whole numbers, whole(1, 1000); found {seeds}")
        self.rebuilt = [n for n in self.owners if n not in self._by_name and n not in self._states]
        middle = dict(zip(self.owners, self._values(np.full((self.size, 1), 0.25))[0].tolist(), strict=True))
        options = {name: middle[name] for name in self.rebuilt}
        if options:  # what makes the test says what is wrong with them
            built(self._test, self._make, options)
        if not hasattr(self._test, "with_values"):
            return
        self._special = {name for name, part in self.owners.items() if _may_be_special(part)}
        own = {v.name: x for v, x in self.tick.parameters.items() if v.name in self.owners}
        for name, value in own.items():
            with suppress(InputError):
                self._test.with_values({name: value})
                self._settable[name] = value

        def build() -> Tick:
            return self._test.with_values(self._settable).tick

        read = values_read(build, self.tick, self._settable.keys(), self._special)
        if read and not self._rebuild:
            raise InputError(
                f"{', '.join(sorted(read))}: matrices, modes or first states are worked out from the value "
                "when the test is built, so that it cannot be drawn here: vary it with `sample`, or take an "
                "integrator that keeps it, RK4"
            )
        self.rebuilt += [name for name in self.owners if name in read]

    @property
    def words(self) -> dict[str, str]:
        """How everything is drawn, by the path that was given."""
        return {path: str(part) for path, part in self.parts.items()}

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values that shares stand for, (tests, parameters); refuse those that are forbidden.

        Parameters
        ----------
        shares
            From 0 to 1, (size, tests).
        """
        values = self._values(shares)
        self._check(values)
        return values

    def _values(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        rows, at = [], 0
        for part in self.parts.values():
            rows.append(_at(part, shares[at : at + _size(part)]))
            at += _size(part)
        return np.ascontiguousarray(np.concatenate(rows).T)

    def dimensions(self) -> dict[str, slice]:
        """Return which shares are whose, by the path that was given."""
        places, at = {}, 0
        for path, part in self.parts.items():
            places[path] = slice(at, at + _size(part))
            at += _size(part)
        return places

    def _check(self, values: NDArray[np.float64]) -> None:
        """Refuse values that a parameter must not have."""
        for i, (name, d) in enumerate(self.owners.items()):
            v = self._by_name.get(name)
            if v is None or v.range is None:
                continue
            for value in (values[:, i].min(), values[:, i].max()):
                try:
                    checked_value(v, float(value))
                except InputError as error:
                    cut = f"truncated({d}, LOW, HIGH)" if isinstance(d, Distribution) else "within=2"
                    raise InputError(f"{name}: {d} reaches {value:.6g}. {error}; cut it off, {cut}") from None


def built(
    test: Built, make: Callable[[Mapping[str, float]], Built] | None, values: Mapping[str, float]
) -> Built:
    """Return a test with other values, by name: of its options, then of its parameters.

    Parameters
    ----------
    test
        As it is.
    make
        Makes it with other options.
    values
        By name.
    """
    known = {v.name for v in test.tick.parameters}
    options = {name: x for name, x in values.items() if name not in known}
    if options and make is None:
        raise InputError(f"{', '.join(options)}: no parameter of the test; say how to make= it")
    base = make(options) if options and make is not None else test
    own = {name: x for name, x in values.items() if name in known}
    return base.with_values(own) if own else base


def _may_be_special(part: Distribution | Correlated) -> bool:
    """Whether zeros or whole numbers are drawn, which may cancel where others do not."""
    if isinstance(part, Correlated):
        return any(map(_may_be_special, part.distributions.values()))
    return part.kind == "whole" or 0 in (part.first, part.second, part.low, part.high)


def _names(path: str, part: Distribution | Correlated) -> tuple[str, ...]:
    if isinstance(part, Distribution):
        return (path,)
    return tuple(f"{path}.{name}" if path else name for name in part.names)


def _size(part: Distribution | Correlated) -> int:
    return 1 if isinstance(part, Distribution) else part.size


def _at(part: Distribution | Correlated, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return part.at(shares[0])[None, :] if isinstance(part, Distribution) else part.at(shares)


def _from_text(
    text: str, path: str, units: Callable[[str], Sequence[str]], own: Sequence[str]
) -> Distribution | Correlated:
    """Read a distribution, ``correlated(NAME=DISTRIBUTION, ..., 0.8)`` or ``identified(FILE, pade=2)``."""
    match = re.fullmatch(r"\s*(correlated|identified)\s*\((.*)\)\s*", text, re.DOTALL)
    if match is None:
        return distribution(text, *own)
    parts = between_commas(match[2])
    if match[1] == "identified":
        return _identified(parts, text)
    drawn: dict[str, Distribution | str] = {}
    numbers: list[float] = []
    for part in parts:
        name, equals, rest = (x.strip() for x in part.partition("="))
        if not equals:
            numbers.append(number(part, text, "1"))
        elif name in drawn:
            raise InputError(f"{text!r}: each parameter is drawn once; found {name} twice")
        else:
            drawn[name] = distribution(rest, *units(f"{path}.{name}" if path else name))
    n = len(drawn)
    if len(numbers) != n * (n - 1) // 2:
        raise InputError(
            f"{text!r}: {n} distributions have {n * (n - 1) // 2} correlations, of the first with the "
            f"others, then of the second with those after it, and so on; found {len(numbers)}"
        )
    matrix = np.eye(n)
    matrix[np.triu_indices(n, 1)] = numbers
    return Correlated(drawn, matrix + matrix.T - np.eye(n))


def _identified(parts: Sequence[str], text: str) -> Correlated:

    options: dict[str, float] = {}
    for part in parts[1:]:
        name, equals, rest = (x.strip() for x in part.partition("="))
        if not equals or name not in ("pade", "within"):
            raise InputError(
                f"{text!r}: expected identified(FILE, pade=N, within=DEVIATIONS); found {part!r}"
            )
        options[name] = number(rest, text, "1")
    pade = options.get("pade", 0.0)
    if pade % 1 or not 0 <= pade <= 8:
        raise InputError(f"{text!r}: pade is a whole number from 0 to 8; found {pade:g}")
    return identified_file(Path(parts[0]), pade=int(pade), within=options.get("within", math.inf))


def read_uncertainty(path: str | Path) -> dict[str, str]:
    r"""Return what a TOML file says of uncertain parameters, for `sample`.

    Parameters
    ----------
    path
        Of a file with a table ``[vary]``: ``"rig.transfer.mass.mass" = "normal(2 kg, 5 %)"``, or
        ``"rig.transfer" = "identified(actuator/model.json)"``. Files are looked for beside this one.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rig.toml"
    >>> _ = file.write_text('[vary]\n"excitation.scale" = "uniform(1, 2)"\n')
    >>> read_uncertainty(file)
    {'excitation.scale': 'uniform(1, 2)'}
    """
    from bondloop.engine.data import checked_format, parsed, text_of

    file = Path(path)
    text = text_of(file)
    try:
        document = parsed(text)
        checked_format(document)
    except InputError as error:
        raise InputError(f"{file} is no TOML file that can be read here: {error}") from None
    table = document.get("vary")
    if not isinstance(table, dict) or not table or len(document) > 1:
        raise InputError(f'{file}: expected a table [vary] of NAME = "DISTRIBUTION", and nothing else')
    found: dict[str, str] = {}
    for name, text in table.items():
        if not isinstance(text, str):
            raise InputError(
                f'{file}: {name}: expected a distribution in quotes, "normal(1, 5%)", and a name with dots '
                f"in quotes too; found {text!r}"
            )
        beside = re.fullmatch(r"\s*identified\s*\(([^,)]*)(.*)\)\s*", text, re.DOTALL)
        found[name] = text
        if beside is not None:
            found[name] = f"identified({(file.parent / beside[1].strip())!s}{beside[2]})"
    return found


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
        kind: ModelStructure,
        process: Process,
        values: Mapping[str, float],
        distributions: Mapping[str, Distribution | str],
        correlation: NDArray[np.float64],
        pade: int,
    ) -> None:
        super().__init__(distributions, correlation)
        self.kind, self.process, self.values = kind, process, dict(values)
        # What follows gain and zeros, as in `ModelStructure.reported`: no stable model has it negative.
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
    kind: ModelStructure, told: Mapping[str, NDArray[np.float64]], pade: int
) -> tuple[Polynomial, Polynomial]:
    """Return numerators and denominators of many models, from parameters as in `ModelStructure.reported`.

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
