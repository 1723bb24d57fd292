"""What is worth saying about the model that a ranking takes: its delay, its doubts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.identify.policy import POLICY, IdentificationPolicy
from bondloop.identify.structure import Structure
from bondloop.identify.tolerances import MOST_POLES

if TYPE_CHECKING:
    from bondloop.identify.process_fit import ProcessFit

__all__ = ["cancelling_words", "delay_words", "either_words", "other_words"]


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
        Structure(s.poles + 1, s.zeros, False)
        if s.delay and s.poles < MOST_POLES
        else Structure(s.poles - 1, s.zeros, True)
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
            (f for f in fits if f.structure == Structure(s.poles - pair, s.zeros - pair, s.delay)), None
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
