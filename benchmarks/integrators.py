"""All integrators in Bayer's test: stability limit, error and cost. Prints a table in Markdown.

Run: python benchmarks/integrators.py (--figure FILE also draws it; about five minutes)
"""

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.engine.analysis.spectrum.linear_step import one_step
from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Expr, Var
from bondloop.engine.ir.tick import Channel, Step, Tick, Update
from bondloop.hybrid import PseudoDynamicTest
from bondloop.integrate import SubStep
from bondloop.integrate.structural import (
    AlphaOS,
    CentralDifference,
    ChenRicles,
    EquationOfMotion,
    HHTAlpha,
    KRAlpha,
    NewmarkExplicit,
    NewmarkImplicit,
    Rosenbrock,
)
from bondloop.integrate.structural.base import Motion, Scheme
from bondloop.integrate.structural.simulate import work
from bondloop.integrate.substep import Coupling
from bondloop.papers import bayer_substep as bayer
from bondloop.rigs import RampHold, ShakingTable, Specimen

KNOWN: dict[str, Any] = {"specimen_stiffness": np.diag([0.0, bayer.STIFFNESSES[2]])}
"""What a static push on the fixed payload would tell of the specimen: k3, at mass 2."""
CANDIDATES: dict[str, SubStep | Scheme] = {
    "SubStep(1)": SubStep(1),
    "SubStep(4)": SubStep(4),
    "SubStep(9)": SubStep(9),
    "SubStep(4, P=-1)": SubStep(4, P=-1.0),
    "SubStep(4), displacement": SubStep(4, control="displacement"),
    "CentralDifference()": CentralDifference(),
    "NewmarkExplicit()": NewmarkExplicit(),
    "AlphaOS(-0.1)": AlphaOS(-0.1),
    "AlphaOS(-0.1), k3 known": AlphaOS(-0.1, **KNOWN),
    "ChenRicles()": ChenRicles(),
    "ChenRicles(), k3 known": ChenRicles(**KNOWN),
    "KRAlpha(0.8)": KRAlpha(0.8),
    "KRAlpha(0.8), k3 known": KRAlpha(0.8, **KNOWN),
    "Rosenbrock()": Rosenbrock(),
    "Rosenbrock(), k3 known": Rosenbrock(**KNOWN),
    "HHTAlpha(-0.1)": HHTAlpha(-0.1),
    "HHTAlpha(-0.1), k3 known": HHTAlpha(-0.1, **KNOWN),
    "NewmarkImplicit()": NewmarkImplicit(),
    "NewmarkImplicit(), k3 known": NewmarkImplicit(**KNOWN),
}
RATES = (500, 1000, 2000)
"""Exchanges of command and force per second in the table; the figure has more."""
LONGEST = 0.1
"""Steps beyond it, a tenth of a second, are of no interest: the first mode has a period of 0.14 s."""


def exchanges(scheme: SubStep | Scheme) -> int:
    """Return how often a step commands the rig and reads the force."""
    return scheme.sub_steps if isinstance(scheme, SubStep) else scheme.calls


def control(scheme: SubStep | Scheme) -> str:
    """Return what the scheme commands: only the sub-step scheme can command accelerations."""
    return scheme.control if isinstance(scheme, SubStep) else "displacement"


def bayers_test(scheme: SubStep | Scheme, step: float, *, excited: bool = True) -> PseudoDynamicTest:
    """Bayer's test with an ideal machine; without excitation and reference it serves to find eigenvalues."""
    payload = Specimen.from_matrices(bayer.payload(), "table")
    base, k1 = bayer.StageSeparation(), bayer.STIFFNESSES[0]
    excitation = {
        "base.displacement": (base, {"m1": k1}),
        "base.velocity": (base.derivative(), {"m1": bayer.RAYLEIGH[1] * k1}),
    }
    return PseudoDynamicTest(
        bayer.structure(),
        scheme=scheme,
        rig=ShakingTable(payload) if control(scheme) == "acceleration" else RampHold(payload),
        interface="m2",
        excitation=excitation if excited else {},
        time_step=step,
        reference=excited,
    )


def stable(scheme: SubStep | Scheme, step: float) -> bool:
    """Whether no eigenvalue of one step of the tick that would run lies outside the unit circle."""
    return one_step(bayers_test(scheme, step, excited=False).tick).stable


def largest_step(scheme: SubStep | Scheme, shortest: float = 5e-4, ratio: float = 1.01) -> float:
    """Return the end of the first range of stable steps, in s, by bisection; infinity if beyond `LONGEST`.

    Ranges of unstable steps can be narrow, hence a scan before the bisection; one that is narrower than the
    scan's ratio is not seen.
    """
    low = shortest
    if not stable(scheme, low):
        return float("nan")
    while stable(scheme, high := low * ratio):
        low = high
        if low > LONGEST:
            return float("inf")
    while high - low > 1e-4 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(scheme, middle) else (low, middle)
    return low


def error(scheme: SubStep | Scheme, rate: float) -> float:
    """Return the rms error of the coupling force over the rms of the exact one; infinity where unstable."""
    step = exchanges(scheme) / rate
    if not stable(scheme, step):
        return float("inf")
    run = bayers_test(scheme, step).run(bayer.SECONDS)
    exact = run["reference.force"]
    return float(np.sqrt(np.mean((run["force"] - exact) ** 2) / np.mean(exact**2)))


def alone(scheme: SubStep | Scheme, step: float = 1e-3) -> Tick:
    """Write the scheme's own statements as a tick: no excitation, and a rig that answers minus the command.

    A force that stayed would let the compiler leave out iterations.
    """
    half = bayer.structure()
    matrices = half.M.toarray(), half.C.toarray(), half.K.toarray()
    motion, force, loads = Motion.named(half.dofs), Var("force"), (Var("load.m1"), Var("load.m2"))
    states = dict.fromkeys((*motion.displacement, *motion.velocity, *motion.acceleration), 0.0)
    states |= {force: 1.0, **dict.fromkeys(loads, 1.0)}

    def load(_fraction: float) -> Sequence[Expr]:
        return loads

    def impose(commands: Sequence[Expr], _number: Expr) -> list[Step]:
        return [Update(((force, -commands[0]),))]

    def restoring(u: Sequence[Expr], _v: Sequence[Expr], _label: str) -> tuple[list[Step], list[Expr]]:
        return impose([u[1]], Const(0.0)), [Const(0.0), -force]

    made: Any
    if isinstance(scheme, SubStep):
        coupling = Coupling([1], [force], impose)
        made = scheme.advance(EquationOfMotion(*matrices, step, motion, load, coupling))
        parameters, own = made.parameters, made.states
    else:
        made = scheme.advance(EquationOfMotion(*matrices, step, motion, load, restoring))
        parameters, own = {}, made.initial(states)
    kept = Update(tuple((v, v) for v in loads))
    return Tick(
        "alone", step, Var("t"), Var("k"), (), {**states, **own}, parameters, (*made.steps, kept),
        (Channel("displacement", motion.displacement[1]),),
    )  # fmt: skip


def nanoseconds(ticks: dict[str, Tick], steps: int = 50_000, rounds: int = 15) -> dict[str, float]:
    """Return the CPU time per step of compiled ticks, taken in turns; the best of several rounds."""
    runners = {name: Runner(tick) for name, tick in ticks.items()}
    best = dict.fromkeys(ticks, float("inf"))
    for _ in range(rounds):
        for name, runner in runners.items():
            runner.reset()
            began = time.process_time_ns()
            runner.run(steps, every=steps)
            best[name] = min(best[name], (time.process_time_ns() - began) / steps)
    return best


def figure(path: Path) -> None:
    """Draw the error against exchanges per second, and against multiplications per second."""
    import matplotlib.pyplot as plt

    rates = [500 * 2**i for i in range(6)]
    styles = {"SubStep": "-o", "AlphaOS": "-s", "ChenRicles": "-^", "KRAlpha": "-v", "NewmarkExplicit": "-D"}
    shown = [
        "SubStep(1)", "SubStep(4)", "SubStep(9)", "SubStep(4), displacement", "NewmarkExplicit()",
        "AlphaOS(-0.1), k3 known", "ChenRicles(), k3 known", "KRAlpha(0.8), k3 known",
        "Rosenbrock(), k3 known", "HHTAlpha(-0.1), k3 known", "NewmarkImplicit(), k3 known",
    ]  # fmt: skip
    drawn, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
    for i, name in enumerate(shown):
        scheme = CANDIDATES[name]
        errors = np.array([100 * error(scheme, rate) for rate in rates])
        errors[~np.isfinite(errors)] = np.nan
        per_exchange = work(alone(scheme).steps).multiplications / exchanges(scheme)
        style = styles.get(name.partition("(")[0], "--o")
        for axis, factor in zip(axes, (1.0, per_exchange), strict=True):
            axis.loglog(
                factor * np.array(rates),
                errors,
                style,
                color=f"C{i % 10}" if i < 10 else "k",
                label=name,
                ms=4,
            )
    axes[0].set(xlabel="exchanges with the rig per second", ylabel="rms error of the coupling force [%]")
    axes[1].set(xlabel="multiplications of the scheme per second")
    for axis in axes:
        axis.grid(visible=True, which="both", alpha=0.25)
    axes[0].set_ylim(0.02, 100)
    axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8, frameon=False)
    drawn.savefig(path, dpi=110)


def main() -> None:
    """Print the table."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--figure", type=Path, help="file for the figure")
    given = asked.parse_args()
    ticks = {name: alone(scheme) for name, scheme in CANDIDATES.items()}
    times = nanoseconds(ticks)
    least = min(times.values())
    with ProcessPoolExecutor() as pool:
        limits = [*pool.map(largest_step, CANDIDATES.values())]
    rates = " | ".join(f"error at {rate:,}/s" for rate in RATES)
    limit_columns = "largest step (ms) | per exchange (ms)"
    print(f"| scheme | control | exchanges | {limit_columns} | {rates} | multiplications | time |")
    print("|---|---|" + "---:|" * (5 + len(RATES)))
    for (name, scheme), seconds in zip(CANDIDATES.items(), limits, strict=True):
        calls, largest = exchanges(scheme), 1e3 * seconds
        limit = (
            [f"{largest:.2f}", f"{largest / calls:.2f}"]
            if np.isfinite(largest)
            else [f"> {x:.3g}" for x in (1e3 * LONGEST, 1e3 * LONGEST / calls)]
        )
        found = [error(scheme, rate) for rate in RATES]
        errors = [f"{100 * x:.2f} %" if np.isfinite(x) else "unstable" for x in found]
        cost = [str(work(ticks[name].steps).multiplications), f"{times[name] / least:.1f}"]
        print(
            "| " + " | ".join([name, control(scheme), str(calls), *limit, *errors, *cost]) + " |", flush=True
        )
    print(f"\nTime 1.0 is {least:.0f} ns of CPU for a step of the compiled scheme, without excitation.")
    if given.figure:
        figure(given.figure)


if __name__ == "__main__":
    main()
