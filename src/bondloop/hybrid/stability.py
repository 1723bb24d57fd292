"""Whether a sampled test is stable, by the eigenvalues of one step of its tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bondloop.program.one_step import OneStep

__all__ = ["Stability"]


@dataclass(frozen=True)
class Stability:
    """The check of a test whose tick is linear, or linearised at its start.

    Attributes
    ----------
    step
        The one-step matrix with its eigenvalues.
    """

    step: OneStep

    @property
    def stable(self) -> bool:
        """Whether nothing grows."""
        return self.step.stable

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against running."""
        return self.stable

    @property
    def level(self) -> str:
        """``"run"`` or ``"stop"``."""
        return "run" if self.passed else "stop"

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        return "Run it." if self.passed else "Do not run this test on a rig: a motion grows."

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that speaks against running, in words."""
        if self.stable:
            return ()
        s = self.step
        growing = f"a motion at {s.frequency:.3g} Hz grows at {s.growth:.3g} 1/s"
        return (f"{growing} (spectral radius {s.spectral_radius:.6f})",)

    def __str__(self) -> str:
        s = self.step
        kind = "exact: every statement is linear" if s.linear else "linearised at the start"
        verdict, which = ("stable", "decays least") if self.stable else ("UNSTABLE", "grows most")
        step = f"One step of {1e3 * s.period:g} ms takes {len(s.states)} states ({kind})"
        motion = f"The motion that {which} has {s.frequency:.3g} Hz and goes as exp({s.growth:.3g} t)."
        lines = [f"{step}; its spectral radius is {s.spectral_radius:.6f}: {verdict}.", motion]
        if s.resting:
            lines.append(
                f"Note: {s.resting} eigenvalues are 1: positions that nothing returns, such as a table's."
            )
        lines += [f"PROBLEM: {p}" for p in self.problems]
        lines.append(f"Verdict: {self.verdict}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain numbers and texts."""
        s = self.step
        return {
            "passed": self.passed,
            "level": self.level,
            "verdict": self.verdict,
            "linear": s.linear,
            "spectral_radius": s.spectral_radius,
            "frequency": s.frequency,
            "growth": s.growth,
            "resting": s.resting,
            "eigenvalues": [[z.real, z.imag] for z in s.eigenvalues.tolist()],
            "problems": list(self.problems),
        }
