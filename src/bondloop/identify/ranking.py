"""Which of several models to take, and why, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.errors import BondloopError, InputError
from bondloop.identify.fit_frequency import fit_frequency
from bondloop.identify.fit_time import fit_time
from bondloop.identify.structure import Structure, structure

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from bondloop.identify.process_fit import ProcessFit

__all__ = ["USUAL", "Ranking", "rank", "rank_frequency", "rank_time"]

USUAL = (
    "G1", "G2", "G1D", "G2D", "2 poles, 1 zero", "2 poles, 1 zero, delay", "3 poles", "3 poles, delay",
    "3 poles, 1 zero, delay",
)  # fmt: skip
"""What ``auto`` tries: du Bois's four, and models of one step more."""
CLOSE = 4.0
"""Differences of Akaike's criterion up to this are no reason for more parameters."""
MATTERS = 1.02
"""A model whose rms error is greater by no more than this factor serves as well."""


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

    def table(self) -> str:
        """Return the ranking as text; the criteria are differences to the best."""
        best, least = self.fits[0].aic(self.effective), min(f.bic(self.effective) for f in self.fits)
        lines = [
            f"{'model':<26}{'parameters':>11}{'fit %':>9}{'rms error':>12}{'AIC':>12}{'BIC':>12}  residuals"
        ]
        for f in self.fits:
            mark = "*" if f is self.recommended else " "
            words = ""
            if f.tests is not None:
                words = ("white" if f.tests.white else "coloured") + (
                    "" if f.tests.independent else ", follow the input"
                )
            lines.append(
                f"{mark}{f.name:<25}{f.size:>11}{f.fit:>9.2f}{f.rms:>12.4g}"
                f"{f.aic(self.effective) - best:>+12.1f}{f.bic(self.effective) - least:>+12.1f}  {words}"
            )
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


def rank_time(
    command: ArrayLike,
    output: ArrayLike,
    sample_period: float,
    models: Sequence[Structure | str] = USUAL,
    **options: Any,
) -> Ranking:
    """Fit several models to a record and rank them; options are those of `fit_time`.

    Parameters
    ----------
    command, output, sample_period
        As for `fit_time`.
    models
        Structures to try, or their names.
    **options
        Of `fit_time`.
    """
    fits, failed = [], {}
    for model in models:
        try:
            fits.append(fit_time(command, output, sample_period, model, **options))
        except BondloopError as error:
            failed[structure(model).name] = str(error)
            if not fits and len(failed) == len(models):
                raise
    f = np.fft.rfftfreq(len(fits[0].measured), sample_period)
    energy = np.cumsum(np.abs(np.fft.rfft(fits[0].measured - fits[0].measured.mean())) ** 2)
    band = float(f[min(int(np.searchsorted(energy, 0.99 * energy[-1])), f.size - 1)])
    return rank(fits, band=band, failed=failed)


def rank_frequency(
    frequency: ArrayLike, response: ArrayLike, models: Sequence[Structure | str] = USUAL, **options: Any
) -> Ranking:
    """Fit several models to a frequency response and rank them; options are those of `fit_frequency`.

    Parameters
    ----------
    frequency, response
        As for `fit_frequency`.
    models
        Structures to try, or their names.
    **options
        Of `fit_frequency`.

    Examples
    --------
    >>> f = np.geomspace(1, 100, 40)
    >>> response = np.exp(-2j * np.pi * f * 3e-3) / (1 + 2j * np.pi * f * 5e-3)
    >>> ranking = rank_frequency(f, response, ["G1", "G1D"])
    >>> ranking.recommended.name, round(ranking.recommended.process.delay, 6)
    ('G1D', 0.003)
    """
    fits, failed = [], {}
    for model in models:
        try:
            fits.append(fit_frequency(frequency, response, model, **options))
        except BondloopError as error:
            failed[structure(model).name] = str(error)
            if not fits and len(failed) == len(models):
                raise
    return rank(fits, band=float(np.max(np.asarray(frequency))), failed=failed)


def rank(fits: Sequence[ProcessFit], *, band: float, failed: dict[str, str] | None = None) -> Ranking:
    """Rank fits to the same data.

    Parameters
    ----------
    fits
        The models.
    band
        Highest frequency in Hz that the data show.
    failed
        Models that could not be fitted.
    """
    if not fits:
        raise InputError("there is no fit to rank")
    closest = min(fits, key=lambda f: f.cost)
    effective = closest.tests.effective_samples if closest.tests else float(closest.samples)
    ordered = sorted(fits, key=lambda f: f.aic(effective))
    sound = [f for f in ordered if not f.warnings] or ordered
    best = sound[0]
    chosen, why = best, ""
    for f in sorted(sound, key=lambda f: (f.size, f.aic(effective))):
        if f.size >= best.size:
            continue
        behind = f.aic(effective) - best.aic(effective)
        if behind <= CLOSE:
            why = (
                f"{best.name} has the least AIC, but {f.name} with {f.size} instead of {best.size} "
                f"parameters is only {behind:.1f} behind, which is no evidence for the larger model: take "
                f"{f.name}."
            )
        elif f.rms <= MATTERS * best.rms:
            why = (
                f"{best.name} has the least AIC, but its rms error is only "
                f"{100 * (1 - best.rms / f.rms):.2g} % below that of {f.name}, which has {f.size} instead of "
                f"{best.size} parameters: take {f.name}."
            )
        if why:
            chosen = f
            break
    if not why:
        why = (
            f"{best.name} has the least AIC, and every simpler model has a clearly larger error: "
            f"take {best.name}."
        )
    reasons = [why, *_delay_words(fits, chosen, band), *_other_words(ordered[0], chosen)]
    return Ranking(tuple(ordered), effective, chosen, tuple(reasons), dict(failed or {}))


def _delay_words(fits: Sequence[ProcessFit], chosen: ProcessFit, band: float) -> list[str]:
    """Say what the phase and the fits say about a delay."""
    s = chosen.structure
    by_structure = {f.structure: f for f in fits}
    twin = by_structure.get(Structure(s.poles, s.zeros, not s.delay))
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
                f"Without the delay ({twin.name}) the rms error is {twin.rms / chosen.rms:.3g} times as "
                "large."
            )
    elif twin is not None:
        words.append(
            f"A delay is not called for: with one ({twin.name}) the rms error is {twin.rms / chosen.rms:.3g} "
            f"times that of {chosen.name}; at {band:.3g} Hz the phase is {phase:.0f} degrees."
        )
    return words


def _other_words(best: ProcessFit, chosen: ProcessFit) -> list[str]:
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
