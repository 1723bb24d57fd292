"""What the page about da Silva and Speranza Neto 1994 says beyond its figures, in numbers.

Run: python examples/papers/dasilva_numbers.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dasilva_figures
import numpy as np

from bondloop.bondgraph import Model, bond
from bondloop.hybrid import Simulation
from bondloop.integrate import NewmarkAverage
from bondloop.papers import dasilva_beam as paper
from bondloop.structures import (
    Beam,
    Frame2D,
    Matrices,
    Structure,
    craig_bampton,
    field_form,
    guyan,
    network_form,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.engine import System
    from bondloop.rehearsal import Run

__all__ = ["numbers", "sizes", "times"]

ENDS = ("n2.uy", "n3.uy")
"""Where the mass hangs and the force acts: what a reduction has to keep."""
STEPS = 200_000
"""Steps over which what is conserved is watched."""


def numbers(run: Run) -> dict[str, float]:
    """Return equations, self-stress, reduction and rounding, by what it is."""
    return {**_element(), **_stress(), **_reduced(run), **_gaps(), **_digits()}


def _element() -> dict[str, float]:
    """Equation (13) and figure 6."""
    stiffness = paper.YOUNG * paper.WIDTH * paper.DEPTH**3 / 12  # E I; the element is 1 m long
    printed = np.array([[6, 3, -6, 3], [3, 2, -3, 1], [-6, -3, 6, -3], [3, 1, -3, 2]])
    element = dasilva_figures.beam_element().K.toarray()
    clamped = dasilva_figures.clamped().compile()
    rest = clamped.steady_state({"F": 1.0})
    off = [
        rest["spring_to_ground[0].displacement"] * 3 * stiffness - 1,
        rest["spring_to_ground[1].displacement"] * 2 * stiffness - 1,
    ]
    return {
        "(13), largest relative difference": float(np.abs(element / (2 * stiffness * printed) - 1).max()),
        "clamped beam, states": float(len(clamped.states)),
        "clamped beam, F L^3/3EI and F L^2/2EI, relative difference": float(np.abs(off).max()),
    }


def _stress() -> dict[str, float]:
    """Start from the static shape of 10 N with the six springs to ground alone."""
    network = paper.model("network").compile()
    rest = network.steady_state({"beam.F": paper.FORCE})
    start = {name: value if "to_ground" in name else 0.0 for name, value in rest.items()}
    A, B = (X.toarray() for X in (network.numeric().A, network.numeric().B))
    rates = A @ [start[name] for name in network.states] + paper.FORCE * B[:, 0]
    place = network.states.index("beam.inertia[5].momentum")
    return {
        "moment on the last rotation, springs to ground alone [N m]": abs(float(rates[place])),
        "steady state, ways left open": float(rest.freedom),
        "steady state, states left open": float(len(rest.free)),
    }


def _reduced(run: Run) -> dict[str, float]:
    """How far the motion of figure 9 is from that of reduced beams, with how many states."""
    found = {}
    beam = paper.matrices()
    for word, small in (
        ("Guyan, two degrees of freedom", guyan(beam, ENDS)),
        ("Craig-Bampton, two and one mode", craig_bampton(beam, ENDS, 1)),
        ("Craig-Bampton, two and two modes", craig_bampton(beam, ENDS, 2)),
    ):
        whole = Model("reduced")
        whole.beam = field_form(small.matrices, "beam", forces={"n3.uy": "F"})
        whole.suspension = paper.suspension()
        bond(whole.beam.n2.uy, whole.suspension.hook)
        paths = list(paper.OUTPUTS.values())
        system = whole.compile(outputs=paths)
        motion = _moved({"small": system}, run.record.sample_period, float(run.time[-1]))
        found[f"{word}: states"] = float(len(system.states))
        found[f"{word}: difference"] = max(
            _rms(motion[f"small.{p}"] - run[f"plain.{p}"]) / _rms(run[f"plain.{p}"]) for p in paths
        )
    return found


def _gaps() -> dict[str, float]:
    """How far the ten conserved gaps q_ij - (q_i - q_j) open by rounding, and how far the beam moves."""
    names = [f"beam.spring_to_ground[{i}].displacement" for i in range(6)]
    between = [f"beam.spring_between[{n}].displacement" for n in range(10)]
    network = paper.model("network").compile(outputs=[*names, *between])
    motion = _moved({"n": network}, 1 / 5000, STEPS / 5000)
    q = [motion[f"n.{name}"] for name in names]
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5)]
    gaps = [motion[f"n.{n}"] - (q[i] - q[j]) for n, (i, j) in zip(between, pairs, strict=True)]
    return {
        "gaps after 200,000 steps [m]": float(np.abs(gaps).max()),
        "largest displacement meanwhile [mm]": 1e3 * float(max(np.abs(q[i]).max() for i in (1, 3))),
    }


def _digits() -> dict[str, float]:
    """Solve frequency responses of drawn plane frames in either form, as they stand and scaled."""
    worst = {(form, scaled): 0.0 for form in ("network", "field") for scaled in (False, True)}
    for seed in range(40):
        frame = _frame(seed)
        K, M = (X.toarray() for X in (frame.K, frame.M))
        omega = 1.3 * float(np.sqrt(np.linalg.eigvals(np.linalg.solve(M, K)).real.min()))
        exact = 1j * omega * _scaled_solve(K - omega**2 * M, np.eye(len(K))[:, -2])[-2]
        for form, build in (("network", network_form), ("field", field_form)):
            dof = frame.dofs[-2]
            space = build(frame, forces={dof: "F"}).compile(outputs=[f"{dof}.flow"]).numeric()
            A, B, C = (X.toarray() for X in (space.A, space.B, space.C))
            E = space.E.toarray()
            for scaled in (False, True):
                solve = _scaled_solve if scaled else np.linalg.solve
                value = (C @ solve(1j * omega * E - A, B[:, 0]))[0]
                worst[form, scaled] = max(worst[form, scaled], float(abs(value / exact - 1)))
    return {
        f"drawn frames, {form} form{', scaled' if scaled else ''}: relative error": error
        for (form, scaled), error in worst.items()
    }


def _frame(seed: int) -> Matrices:
    """Return M and K of a plane frame of four members in a row, of drawn directions and lengths."""
    rng = np.random.default_rng(seed)
    s = Structure("frame")
    at = np.zeros(2)
    s.node("n0")
    for i in range(4):
        at = at + rng.uniform(0.5, 2.0) * np.array([np.cos(a := rng.uniform(-1.2, 1.2)), np.sin(a)])
        s.node(f"n{i + 1}", x=float(at[0]), y=float(at[1]))
        s.add(Frame2D(f"n{i}", f"n{i + 1}", E=210e9, A=1e-3, I=1e-7, rho=7850.0))
    s.support("n0")
    return s.assemble(mass="lumped")


def _scaled_solve(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve A x = b with rows and columns scaled to size one first."""
    from bondloop.engine.analysis.rest import equilibrated

    _, rows, columns = equilibrated(np.abs(A))
    return np.asarray(columns * np.linalg.solve(rows[:, None] * A * columns, rows * b))


def sizes() -> dict[str, tuple[int, int]]:
    """Return states of the network and of the field form of simply supported beams, and of a full matrix."""
    found = {f"{n} elements": _counted(_beam(n)) for n in (3, 10, 30)}
    rng = np.random.default_rng(1)
    K = rng.normal(size=(20, 20))
    full = Matrices(np.eye(20), None, K @ K.T + 20 * np.eye(20), tuple(f"n{i}.ux" for i in range(20)))
    return found | {"20 degrees of freedom, all coupled": _counted(full)}


def times() -> dict[str, tuple[float, float]]:
    """Return µs a step of Newmark's scheme in the compiled tick, network and field form, on this machine."""
    found = {}
    for n in (3, 10, 30):
        beam, each = _beam(n), []
        for build in (network_form, field_form):
            system = build(beam, "beam", forces={"n1.uy": "F"}).compile(outputs=["n1.uy.flow"])
            test = _test({"s": system}, 1 / 5000, "F")
            test.run(0.01)  # compiles
            short, long = (_shortest(test, seconds) for seconds in (0.5, 8.5))
            each.append(1e6 * (long - short) / (8.0 * 5000))
        found[f"{n} elements"] = (each[0], each[1])
    return found


def _shortest(test: Simulation, seconds: float) -> float:
    """Return the shortest of five wall times of a run."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        test.run(seconds)
        found.append(time.perf_counter() - began)
    return min(found)


def _counted(matrices: Matrices) -> tuple[int, int]:
    network, field = (len(build(matrices, "beam").compile().states) for build in (network_form, field_form))
    return network, field


def _beam(elements: int) -> Matrices:
    s = Structure("beam")
    for i in range(elements + 1):
        s.node(f"n{i}", x=i * paper.LENGTH / elements)
    area, inertia = paper.WIDTH * paper.DEPTH, paper.WIDTH * paper.DEPTH**3 / 12
    for i in range(elements):
        s.add(Beam(f"n{i}", f"n{i + 1}", E=paper.YOUNG, A=area, I=inertia, rho=paper.DENSITY))
    s.support("n0", "uy")
    s.support(f"n{elements}", "uy")
    found = s.assemble(mass="lumped")
    return found.sub([dof for dof in found.dofs if dof.endswith(("uy", "rz"))])


def _test(systems: dict[str, System], period: float, force: str = "beam.F") -> Simulation:
    sine = paper.test().excitation["beam.F"]
    return Simulation(systems, excitation={force: sine}, rate=1 / period, integrator=NewmarkAverage())


def _moved(systems: dict[str, System], period: float, seconds: float) -> Run:
    return _test(systems, period).run(seconds)


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


if __name__ == "__main__":
    for name, value in numbers(paper.test().run(paper.SECONDS)).items():
        print(f"{name:62s} {value:.4g}")
    for name, (network, field) in sizes().items():
        print(f"{name}: {network} states as a network, {field} as a field")
    for name, (network, field) in times().items():
        print(f"{name}: {network:.2f} µs a step as a network, {field:.2f} as a field, on this machine")
