"""Does bondloop agree with the tableau of a drawn graph? Refusals are judged by the tableau's rank."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # for neighbours.py and tableau.py

from neighbours import FAR, NEAR, fastest_pole, is_singular, states_of_neighbours
from tableau import PROBES, Tableau, scales

from bondloop.errors import BondloopError

AGREED, PROVED = "agreed", "refused, proved"
JUMPS = "refused, jumps"
REFUSED_WRONGLY = "refused, but well posed"
ACCEPTED_WRONGLY = "accepted, but ill posed"
DISAGREED = "disagreed"
UNSOLVED = "refused, no solution here"
HUGE = 1e4
"""Number from which a point is drawn again, nearer to rest."""

OUTCOMES = (AGREED, PROVED, JUMPS, UNSOLVED, REFUSED_WRONGLY, ACCEPTED_WRONGLY, DISAGREED)


@dataclass
class Verdict:
    """What came out for one graph.

    Attributes
    ----------
    outcome, reason
        One of `OUTCOMES`, and the refusal's text or what differs.
    error
        Largest difference from the tableau, relative to the size of what is compared.
    power
        Power into all parts, relative to the power that they exchange.
    linear
        Whether it was compared as a linear model.
    """

    outcome: str
    reason: str = ""
    error: float = 0.0
    power: float = 0.0
    linear: bool = False


def judged(graph: Any, seed: int = 0, tolerance: float = 1e-9) -> Verdict:
    """Compile a graph with bondloop, and compare it with its tableau."""
    rng = np.random.default_rng(seed)
    tableau = Tableau(graph)
    named = sorted({name for name in tableau.names if name})
    point = tableau.anywhere(rng)
    singular = tableau.pencil_is_singular(*point)
    try:
        system = graph.model().compile(outputs=named)
        space = system.numeric() if system.is_linear else None
    except BondloopError as error:
        return refusal(tableau, point, singular, error)
    whole = [rng.normal(size=len(names)) for names in (system.states, system.inputs, system.inputs)]
    for scale in (1.0, 0.2, 0.04):
        x, u, du = (scale * v for v in whole)
        try:
            error, power, size = difference_at(system, tableau, x, u, du)
        except BondloopError as refused:
            order = [system.inputs.index(name) for name in tableau.inputs]
            verdict = refusal(tableau, point, singular, refused)
            solution = tableau.solve([tableau.names.index(s) for s in system.states], x, u[order], du[order])
            if verdict.outcome == REFUSED_WRONGLY and solution is None:
                verdict.outcome = UNSOLVED
            return verdict
        if space is not None or size < HUGE:  # exponentials make numbers with which nothing can be compared
            break
    if singular and is_singular(tableau, point):
        return Verdict(ACCEPTED_WRONGLY)
    if space is not None and not singular:  # else its responses, to sixteen digits, are none to compare with
        error = max(error, difference_of_matrices(space, tableau, named))
    if error > tolerance and space is not None:
        # In a ring of bonds a transformer of 1 + d leaves d of what cancels, and poles near 1/d^2: beside
        # them rounding is no longer small. How fast they are the tableau says, not what is judged.
        count, fastest = fastest_pole(graph, point)
        if count < len(system.states):
            return Verdict(
                JUMPS, f"{count} poles below {FAR:.0e} 1/s, {len(system.states)} states", error, power
            )
        tolerance = max(tolerance, 10 * float(np.finfo(float).eps) * fastest / min(map(abs, PROBES)))
    good = error <= tolerance and power <= tolerance
    words = "" if good else f"differs by {error:.1e}, power by {power:.1e}"
    return Verdict(AGREED if good else DISAGREED, words, error, power, linear=space is not None)


def refusal(tableau: Tableau, point: tuple[Any, Any, Any], singular: bool, error: BondloopError) -> Verdict:
    """Judge a refusal by ranks at a point."""
    words = f"{type(error).__name__}: {error}"
    if singular or tableau.contradicts(*point) or tableau.needs_second_rates(*point):
        return Verdict(PROVED, words)
    here, most, fastest = states_of_neighbours(tableau.graph, point)
    if most > here:
        beside = (
            f"{here} states here, {most} with numbers changed by {NEAR:.0e}, poles near {fastest:.0e} 1/s"
        )
        return Verdict(JUMPS, f"{beside}; {words}")
    return Verdict(REFUSED_WRONGLY, words)


def difference_at(system: Any, tableau: Tableau, x: Any, u: Any, du: Any) -> tuple[float, float, float]:
    """Put bondloop's efforts, flows, contents and rates into the tableau.

    Returns what is left, the power that is missing, and the largest of all numbers.

    What bondloop has no name for (a bond between two junctions of a kind) is solved for. The rates of the
    contents must also be rates of contents that go on satisfying the tableau.
    """
    t = tableau
    order = [system.inputs.index(name) for name in t.inputs]
    rates = dict(zip(system.inputs, du, strict=True))
    contents = t.names[t.size - t.stored :]
    state = dict(zip(system.states, system.rate_exprs, strict=True))
    goals = {name: system.expression(name) for name in t.names if name}
    goals |= {f"d/dt {name}": state[name] if name in state else system.expression(f"d/dt {name}")
              for name in contents}  # fmt: skip
    values = system.function(list(goals.values()))(
        x.tolist(), u.tolist(), [rates[v.name] for v in system.input_rates], list(system.values().values())
    )
    value = dict(zip(goals, values, strict=True))
    y = np.array([value.get(name, 0.0) for name in t.names])
    dz = np.array([value[f"d/dt {name}"] for name in contents])
    u, du = u[order], du[order]
    hidden = np.array([i for i, name in enumerate(t.names) if not name], dtype=int)
    E, A, B = t.slopes(dz, y, u)
    if len(hidden):
        y[hidden] = np.linalg.lstsq(A[:, hidden], -t.residual(dz, y, u), rcond=1e-12)[0]
    size = np.abs(E[:, -t.stored :]) @ np.abs(dz) if t.stored else 0.0
    rows = scales(PROBES[0] * E + A)[0]  # newtons beside pascals: every equation is brought to size one
    size = rows * (size + np.abs(A) @ np.abs(y) + np.abs(B) @ np.abs(u))
    left = rows * np.abs(t.residual(dz, y, u)) / np.maximum(size, size.max(initial=0.0) * 1e-3 + 1e-300)
    first = t.size - t.stored
    columns = scales(PROBES[0] * E + A)[1]
    moving = rows[:, None] * np.concatenate([A[:, :first], E[:, first:]], axis=1) * columns
    known = rows * (A[:, first:] @ dz + B @ du)
    rest = known - moving @ np.linalg.lstsq(moving, known, rcond=1e-13)[0]
    scale = rows * (np.abs(A[:, first:]) @ np.abs(dz) + np.abs(B) @ np.abs(du))
    late = np.abs(rest) / max(scale.max(initial=0.0), size.max(initial=0.0), 1e-300)
    error = float(max(left.max(initial=0.0), late.max(initial=0.0)))
    return error, power_error(t, y), float(max(np.abs(y).max(initial=0.0), np.abs(dz).max(initial=0.0)))


def power_error(tableau: Tableau, y: Any) -> float:
    """Return the power into all parts but junctions and two-ports, against the power exchanged."""
    e, f = y[: tableau.bonds], y[tableau.bonds : 2 * tableau.bonds]
    powers = [
        s * e[b] * f[b]
        for kind, ports in zip(tableau.graph.nodes, tableau.ports, strict=True)
        if not kind.conserves
        for b, s in ports
    ]
    total = np.abs(e * f).sum()
    return float(abs(sum(powers)) / total) if total else 0.0


def difference_of_matrices(space: Any, tableau: Tableau, named: list[str]) -> float:
    """Compare responses at complex frequencies and the characteristic polynomial."""
    t = tableau
    E, A, B = t.slopes(np.zeros(t.stored), np.zeros(t.size), np.zeros(len(t.inputs)))
    Eb, Ab, Bb, Fb, Cb, Db, Hb = (
        M.toarray() for M in (space.E, space.A, space.B, space.F, space.C, space.D, space.H)
    )
    order = [space.inputs.index(name) for name in t.inputs]
    rows = [t.names.index(name) for name in named]
    worst, ratios = 0.0, []
    for s in PROBES:
        theirs = t.response(s, E, A, B)[rows]
        inner = s * Eb - Ab
        ours = (Cb @ np.linalg.solve(inner, Bb + s * Fb) if len(inner) else 0.0) + Db + s * Hb
        unit = scales(s * E + A)[1][rows, None]
        size = np.abs(theirs) / unit
        size = np.maximum(size, 1e-3 * size.max(axis=0, initial=0.0) + 1e-300)
        worst = max(worst, float((np.abs(ours[:, order] - theirs) / unit / size).max(initial=0.0)))
        one, other = np.linalg.slogdet(inner), np.linalg.slogdet(s * E + A)
        ratios.append((one[0] / other[0], one[1] - other[1]))
    # The polynomials differ by a constant factor: the same states, the same poles.
    for phase, size in ratios[1:]:
        worst = max(worst, abs(phase / ratios[0][0] * np.exp(size - ratios[0][1]) - 1))
    return worst
