"""Which process model suits the data: fits side by side, and the choice in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import as_text, brief, with_progress
from bondloop.engine.data import POSITIVE, number
from bondloop.errors import BondloopError, InputError
from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.process.frequency_fit import fit_response, lines_to_fit, longest_delay, response_bounds
from bondloop.identify.process.line_fit import promising, search
from bondloop.identify.process.process_fit import ModelStructure, information, structure
from bondloop.identify.process.time_fit import fit_record, record_to_fit
from bondloop.identify.tolerances import MOST_POLES, ROUNDING, SAMPLES_CONTRASTED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bondloop.identify.process.process_fit import ProcessFit

    Array = NDArray[np.float64]


USUAL = (
    "G1", "G2", "G1D", "G2D", "2 poles, 1 zero", "2 poles, 1 zero, delay", "3 poles", "3 poles, delay",
    "3 poles, 1 zero, delay",
)  # fmt: skip
"""Du Bois's four, and models of one step more; what is left where a record is too short for a search."""
AUTO = "auto"
"""All structures up to six poles, three zeros and a delay, of which the promising ones are fitted."""


@dataclass(frozen=True)
class Ranking:
    """Fitted models, the best by Akaike's criterion first.

    Attributes
    ----------
    fits
        The models.
    effective
        How many white samples the data are worth: the N of the criteria. The residuals of the model with the
        least error tell; in coloured ones N samples say less than N, and plain criteria would ask for ever
        more parameters.
    recommended
        The model to take.
    reasons
        Why, in sentences.
    failed
        Models that could not be fitted, with the reason.
    """

    fits: tuple[ProcessFit, ...]
    effective: float
    recommended: ProcessFit
    reasons: tuple[str, ...]
    failed: dict[str, str]

    __repr__ = brief
    _repr_html_ = as_text

    def table(self) -> str:
        """Return the ranking as text; the criteria are differences to the best."""
        lines = [
            f"{'model':<26}{'parameters':>11}{'fit %':>9}{'rms error':>12}{'AIC':>12}{'BIC':>12}  residuals"
        ]
        best, least = self.fits[0].aic(self.effective), min(f.bic(self.effective) for f in self.fits)
        for f in self.fits:
            words = ""
            if f.tests is not None:
                words = "white" if f.tests.white else "coloured"
                words += "" if f.tests.independent else ", follow the input"
            aic, bic = f.aic(self.effective) - best, f.bic(self.effective) - least
            mark = "*" if f is self.recommended else " "
            numbers = f"{f.size:>11}{f.fit:>9.2f}{f.rms:>12.4g}{aic:>+12.1f}{bic:>+12.1f}"
            lines.append(f"{mark}{f.name:<25}{numbers}  {words}")
        return "\n".join(line.rstrip() for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as a dictionary that fits into JSON."""
        return {
            "recommended": self.recommended.name,
            "reasons": list(self.reasons),
            "effective_samples": self.effective,
            "models": [
                {**f.to_dict(), "aic": f.aic(self.effective), "bic": f.bic(self.effective)} for f in self.fits
            ],
            "failed": dict(self.failed),
        }

    def __str__(self) -> str:
        return "\n".join([self.table(), "", *self.reasons])


@with_progress("ranking models")
def rank_time(
    command: ArrayLike,
    output: ArrayLike,
    sample_period: float | str,
    models: Sequence[ModelStructure | str] | str = AUTO,
    *,
    progress: Callable[[int, int], None] | None = None,
    policy: IdentificationPolicy = POLICY,
    **options: Any,
) -> Ranking:
    """Fit several models to a record and rank them; options are those of `fit_time`.

    Parameters
    ----------
    command, output, sample_period
        As for `fit_time`.
    models
        Structures to try, or their names; ``"auto"`` tries all up to six poles, three zeros and a delay
        on the record's spectrum and fits the promising ones.
    progress
        Called with how many models are fitted, of how many, before the first and after each.
    **options
        Of `fit_time`.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> from bondloop.transfer.process import second_order
    >>> rng = np.random.default_rng(2)
    >>> u = rng.normal(size=2000)
    >>> y = second_order(1.0, 20.0, 0.4, delay=0.004).simulate(u, 1e-3) + 0.01 * rng.normal(size=2000)
    >>> rank_time(u, y, 1e-3).recommended.name
    'G2D'
    """
    search_all = models == AUTO
    wanted = [structure(m) for m in (USUAL if search_all else _listed(models))]
    sample_period = POSITIVE.check(sample_period, "sample_period", "s")
    record = record_to_fit(command, output, sample_period, wanted, **options)
    starts: dict[ModelStructure, Array | None] = dict.fromkeys(wanted)
    if search_all:
        tried = search(record.lines, record.bounds, record.furthest)
        starts = {
            f.structure: f.start for f in promising(tried, plain=record.used <= SAMPLES_CONTRASTED)
        } or starts
    fits, failed = _fitted(starts, lambda s, theta: fit_record(record, s, theta), progress)
    f = np.fft.rfftfreq(len(fits[0].measured), sample_period)
    energy = np.cumsum(np.abs(np.fft.rfft(fits[0].measured - fits[0].measured.mean())) ** 2)
    band = float(f[min(int(np.searchsorted(energy, 0.99 * energy[-1])), f.size - 1)])
    return rank(fits, band=band, failed=failed, policy=policy)


@with_progress("ranking models")
def rank_frequency(
    frequency: ArrayLike,
    response: ArrayLike,
    models: Sequence[ModelStructure | str] | str = AUTO,
    *,
    max_delay: float | str | None = None,
    policy: IdentificationPolicy = POLICY,
    **options: Any,
) -> Ranking:
    """Fit several models to a frequency response and rank them; options are those of `fit_frequency`.

    Parameters
    ----------
    frequency, response
        As for `fit_frequency`.
    models
        Structures to try, or their names; ``"auto"`` as for `rank_time`.
    max_delay, **options
        Of `fit_frequency`.
    policy
        Thresholds of judgement.

    Examples
    --------
    >>> f = np.geomspace(1, 100, 40)
    >>> response = np.exp(-2j * np.pi * f * 3e-3) / (1 + 2j * np.pi * f * 5e-3)
    >>> ranking = rank_frequency(f, response, ["G1", "G1D"])
    >>> ranking.recommended.name, round(ranking.recommended.process.delay, 6)
    ('G1D', 0.003)
    """
    search_all = models == AUTO
    lines = lines_to_fit(frequency, response, **options)
    starts: dict[ModelStructure, Array | None] = {}
    if search_all:
        longest = longest_delay(lines, max_delay)
        tried = search(lines, lambda s: response_bounds(s, lines.frequency, longest), longest)
        starts = {f.structure: f.theta for f in promising(tried)}
    if not starts:
        starts = dict.fromkeys(structure(m) for m in (USUAL if search_all else _listed(models)))

    def fit(s: ModelStructure, theta: Array | None) -> ProcessFit:
        return fit_response(lines, s, max_delay, () if theta is None else (theta,))

    fits, failed = _fitted(starts, fit)
    return rank(fits, band=float(lines.frequency[-1]), failed=failed, policy=policy)


def _listed(models: Sequence[ModelStructure | str] | str) -> Sequence[ModelStructure | str]:
    """Return models as a list, a single name too."""
    return [models] if isinstance(models, str) else models


def _fitted(
    starts: dict[ModelStructure, Array | None],
    fit: Callable[[ModelStructure, Array | None], ProcessFit],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[ProcessFit], dict[str, str]]:
    """Fit all structures; return the fits, and why others could not be fitted."""
    fits: list[ProcessFit] = []
    failed: dict[str, str] = {}
    for model, theta in starts.items():
        if progress is not None:
            progress(len(fits) + len(failed), len(starts))
        try:
            fits.append(fit(model, theta))
        except BondloopError as error:
            failed[model.name] = str(error)
            if not fits and len(failed) == len(starts):
                raise
    if progress is not None:
        progress(len(starts), len(starts))
    return fits, failed


def rank(
    fits: Sequence[ProcessFit],
    *,
    band: float | str,
    failed: dict[str, str] | None = None,
    policy: IdentificationPolicy = POLICY,
) -> Ranking:
    """Rank fits to the same data.

    Parameters
    ----------
    fits
        The models.
    band
        Highest frequency in Hz that the data show.
    failed
        Models that could not be fitted.
    policy
        Thresholds of judgement.
    """
    if not fits:
        raise InputError("there is no fit to rank")
    highest = number(band, "band", "Hz")
    closest = min(fits, key=lambda f: f.cost)
    effective = closest.tests.effective_samples if closest.tests else float(closest.samples)

    size = closest.cost * float(np.mean(np.abs(closest.measured) ** 2)) / max(closest.rms**2, 1e-300)

    def score(f: ProcessFit) -> float:
        # An error of nothing but rounding is no reason for another parameter.
        least = max(f.cost, ROUNDING**2 * size)
        return information(least, f.samples, f.size + f.nuisance, effective)[0]

    ordered = sorted(fits, key=score)
    sound = [f for f in ordered if not f.warnings] or ordered
    best = sound[0]
    chosen, why = best, ""
    for f in sorted(sound, key=lambda f: (f.size, score(f))):
        if f.size >= best.size:
            continue
        behind = score(f) - score(best)
        if behind <= policy.close:
            why = (
                f"{best.name} has the least AIC, but {f.name} with {f.size} instead of {best.size} "
                f"parameters is only {behind:.1f} behind, which is no evidence for the larger model: take "
                f"{f.name}."
            )
        elif (
            f.rms <= policy.similar_error * best.rms and best.tests is not None and not best.tests.independent
        ):
            why = (
                f"{best.name} has the least AIC, but even its residuals follow the input, so the criterion "
                f"counts what no linear model explains; its rms error is only "
                f"{100 * (1 - best.rms / f.rms):.2g} % below that of {f.name}, which has {f.size} instead of "
                f"{best.size} parameters: take {f.name}."
            )
        if why:
            chosen = f
            break
    if not why:
        why = (
            f"{best.name} has the least AIC, and no simpler model comes near it: take {best.name}."
            if len(sound) > 1
            else f"{best.name} is the only model that was fitted without a doubt: take {best.name}."
        )
    doubts = [
        *either_words(fits, chosen, score, policy.close, highest),
        *cancelling_words(fits, chosen, policy),
    ]
    reasons = [why, *delay_words(fits, chosen, highest), *doubts, *other_words(ordered[0], chosen)]
    return Ranking(tuple(ordered), effective, chosen, tuple(reasons), dict(failed or {}))


def either_words(
    fits: Sequence[ProcessFit],
    chosen: ProcessFit,
    score: Callable[[ProcessFit], float],
    close: float,
    band: float,
) -> list[str]:
    """Say whether a pole in place of the delay, or a delay in place of a pole, would do as well."""
    s = chosen.structure
    other = (
        ModelStructure(s.poles + 1, s.zeros, False)
        if s.delay and s.poles < MOST_POLES
        else ModelStructure(s.poles - 1, s.zeros, True)
        if not s.delay and s.poles - 1 > s.zeros
        else None
    )
    f = next((f for f in fits if f.structure == other), None)
    if f is None or abs(score(f) - score(chosen)) > close:
        return []
    x = np.linspace(band / 200, band, 200)
    apart = float(np.max(np.abs(f.process.response(x) / chosen.process.response(x) - 1)))
    words = ("the delay", "one pole more") if s.delay else ("one of its poles", "a delay")
    text = (
        f"The data do not tell {words[0]} of {chosen.name} from {words[1]} ({f.name}): up to {band:.3g} Hz "
        f"the two differ by {100 * apart:.2g} % at most, beyond that nothing is known."
    )
    return [text]


def cancelling_words(
    fits: Sequence[ProcessFit], chosen: ProcessFit, policy: IdentificationPolicy = POLICY
) -> list[str]:
    """Say which poles and zeros of the model to take nearly cancel."""
    poles, zeros = chosen.process.poles(), chosen.process.zeros()
    s, words = chosen.structure, []
    for z in zeros[zeros.imag >= 0]:
        p = poles[np.argmin(np.abs(poles - z))]
        if abs(p - z) > policy.cancelling * abs(p):
            continue
        pair = 1 if abs(z.imag) <= 1e-9 * abs(z) else 2
        less = next(
            (f for f in fits if f.structure == ModelStructure(s.poles - pair, s.zeros - pair, s.delay)), None
        )
        without = ""
        if less is not None:
            without = (
                f"; without them ({less.name}) the rms error is {_times(less, chosen):.3g} times as large"
            )
        zero, pole = ("a zero", "s a pole") if pair == 1 else ("two zeros", " two poles")
        hertz = [abs(root) / (2 * np.pi) for root in (z, p)]
        words.append(
            f"{chosen.name} has {zero} at {hertz[0]:.3g} Hz that nearly cancel{pole} at {hertz[1]:.3g} Hz"
            f"{without}."
        )
    return words


def delay_words(fits: Sequence[ProcessFit], chosen: ProcessFit, band: float) -> list[str]:
    """Say what the phase and the fits say about a delay."""
    s = chosen.structure
    by_structure = {f.structure: f for f in fits}
    twin = by_structure.get(ModelStructure(s.poles, s.zeros, not s.delay))
    words = []
    poles = 90 * (s.poles - s.zeros)
    f = np.linspace(band / 400, band, 400)
    phase = np.degrees(np.unwrap(np.angle(chosen.process.response(f) * np.sign(chosen.process.gain))))[-1]
    if s.delay:
        own = chosen.parameters["delay"]
        beyond = (
            f"beyond the {-poles} degrees that its poles and zeros reach"
            if phase < -poles
            else f"of which the delay gives {-360 * band * own.value:.0f}"
        )
        words.append(
            f"At {band:.3g} Hz the phase is {phase:.0f} degrees, {beyond}: the delay of "
            f"{1e3 * own.value:.3g} ms stands for it."
        )
        if twin is not None:
            words.append(
                f"Without the delay ({twin.name}) the rms error is {_times(twin, chosen):.3g} times as large."
            )
    elif twin is not None:
        words.append(
            f"A delay is not called for: with one ({twin.name}) the rms error is {_times(twin, chosen):.3g} "
            f"times that of {chosen.name}; at {band:.3g} Hz the phase is {phase:.0f} degrees."
        )
    return words


def other_words(best: ProcessFit, chosen: ProcessFit) -> list[str]:
    """Say what is doubtful about the model to take."""
    words = []
    if chosen.tests is not None and not chosen.tests.independent:
        words.append(
            f"The residuals of {chosen.name} still follow the input: dynamics or a nonlinearity are left out "
            f"({100 - chosen.fit:.2g} % of the output in all); compare amplitudes before adding parameters."
        )
    if not chosen.process.invertible:
        zero = max(z.real for z in chosen.process.zeros())
        words.append(
            f"{chosen.name} has a zero at {zero:.3g} rad/s, right of the axis: it cannot be inverted for a "
            "compensator; take a model without zeros and with a delay for that."
        )
    if best.warnings:
        words.append(f"{best.name} has the least AIC of all but is left aside: {best.warnings[0]}.")
    return words


def _times(other: ProcessFit, chosen: ProcessFit) -> float:
    """Return how many times as large the error of another model is; without noise there may be none."""
    return other.rms / max(chosen.rms, 1e-12 * other.rms, 1e-300)
