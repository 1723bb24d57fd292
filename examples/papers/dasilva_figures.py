"""Figures 2, 3, 5, 6, 8 and 9 of da Silva and Speranza Neto 1994, and every number of the page about it.

The graphs come from matrices by `structures.network_form`, as the paper says; none is drawn by hand.

Run: python examples/papers/dasilva_figures.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, bond
from bondloop.papers import dasilva_beam as paper
from bondloop.results.figures.layout import ACTUAL, DESIRED, dress, finish, heading, legend, page
from bondloop.structures import Beam, Matrices, Structure, modal_form, modes, network_form

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.rehearsal import Run

__all__ = ["beam_element", "clamped", "coupled", "draw", "modal_differences", "numbers"]

HOLDS = ("n1.uy", "n1.rz", "n2.uy", "n2.rz")
"""The degrees of freedom of figure 4, in the order of equation (13)."""


def coupled(*, damped: bool = False) -> Model:
    """Return two degrees of freedom with a force on each (figure 2), or with dampers too (figure 3)."""
    K = np.array([[5.0, -2.0], [-2.0, 3.0]])
    D = np.array([[0.7, -0.3], [-0.3, 0.4]]) if damped else np.zeros((2, 2))
    both = Matrices(np.diag([1.5, 2.5]), D, K, ("u_i.ux", "u_j.ux"))
    return network_form(both, "coupled", forces={"u_i.ux": "F_i", "u_j.ux": "F_j"})


def beam_element(*, damped: bool = True) -> Matrices:
    """Return M, C and K of one free beam element of steel, 1 m long (figure 4)."""
    s = Structure("element")
    s.node("n1")
    s.node("n2", x=1.0)
    area, inertia = paper.WIDTH * paper.DEPTH, paper.WIDTH * paper.DEPTH**3 / 12
    s.add(Beam("n1", "n2", E=paper.YOUNG, A=area, I=inertia, rho=paper.DENSITY))
    found = s.assemble(mass="lumped", free=True).sub(HOLDS)
    return Matrices(found.M, 1e-4 * found.K, found.K, found.dofs) if damped else found


def clamped() -> Model:
    """Return the element clamped at its first node, with a force at its end (figure 6)."""
    free = beam_element()
    return network_form(free.sub(HOLDS[2:]), "clamped_beam", forces={"n2.uy": "F"})


# ---------------------------------------------------------------- what the page says in numbers


def modal_differences(run: Run) -> dict[int, float]:
    """Return, by number of modes of the beam, how far Margolis's modal form is from all elements.

    The largest of the three velocities of figure 9, rms, each relative to its own rms.
    """
    from bondloop.hybrid import Simulation
    from bondloop.integrate import NewmarkAverage

    beam, found = paper.matrices(), {}
    paths = list(paper.OUTPUTS.values())
    sine = paper.test().excitation["beam.F"]
    for count in range(1, len(beam) + 1):
        whole = Model("margolis")
        whole.beam = modal_form(modes(beam, count), name="beam", forces={"n3.uy": "F"})
        whole.suspension = paper.suspension()
        bond(whole.beam.n2.uy, whole.suspension.hook)
        modal = Simulation(
            {"modal": whole.compile(outputs=paths)},
            excitation={"beam.F": sine}, rate=1 / run.record.sample_period, integrator=NewmarkAverage(),
        ).run(float(run.time[-1]))  # fmt: skip
        found[count] = max(
            _rms(modal[f"modal.{p}"] - run[f"plain.{p}"]) / _rms(run[f"plain.{p}"]) for p in paths
        )
    return found


def numbers(run: Run) -> dict[str, float]:
    """Return every number of the page, by what it is."""
    network, field = (paper.model(form).compile() for form in ("network", "field"))
    at_rest = network.steady_state({"beam.F": paper.FORCE})
    K = paper.matrices().K.toarray()
    static = np.linalg.solve(K, paper.FORCE * np.eye(6)[3])
    smallest = np.linalg.lstsq(network.numeric().A.toarray(), _loaded(network), rcond=None)[0]
    place = list(network.states).index("beam.spring_to_ground[3].displacement")
    poles = network.poles()
    coupled_modes = np.sort(np.abs(field.poles().imag))[1::2] / (2 * np.pi)
    found = {
        "states, network form": float(len(network.states)),
        "states, field form": float(len(field.states)),
        "poles at zero, network form": float(np.count_nonzero(np.abs(poles) < 1e-9)),
        "deflection under 10 N, steady state [mm]": 1e3 * at_rest["beam.spring_to_ground[3].displacement"],
        "deflection under 10 N, K u = F [mm]": 1e3 * float(static[3]),
        "deflection under 10 N, smallest stretches [mm]": 1e3 * float(smallest[place]),
        "springs between that are negative": float(
            sum(v < 0 for n, v in network.parameters.items() if "spring_between" in n)
        ),
        "beam alone, first frequency [Hz]": float(modes(paper.matrices(), 1).omega[0]) / (2 * np.pi),
        "first frequency [Hz]": float(coupled_modes[0]),
        "second frequency [Hz]": float(coupled_modes[1]),
        "third frequency [Hz]": float(coupled_modes[2]),
        **{name.replace("_", " "): value for name, value in paper.findings(run).items()},
    }
    found |= {f"modal form of {n} modes, difference": d for n, d in modal_differences(run).items()}
    return found


def _loaded(network: object) -> NDArray[np.float64]:
    return -paper.FORCE * np.asarray(network.numeric().B.toarray())[:, 0]  # type: ignore[attr-defined]


def _rms(values: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(values**2)))


# ---------------------------------------------------------------- the figures


def draw(run: Run, folder: Path) -> list[Path]:
    """Draw the paper's graphs, its figure 9, and how many modes Margolis's form needs."""
    graphs = {
        "2": (coupled(), "Two degrees of freedom"),
        "3": (coupled(damped=True), "Two degrees of freedom with dissipation"),
        "5": (network_form(beam_element(), "beam"), "A beam element"),
        "6": (clamped(), "A clamped beam"),
        "8": (paper.model("network"), "The beam with its suspended mass"),
    }
    files = []
    for number, (model, title) in graphs.items():
        path = folder / f"dasilva_figure_{number}.svg"
        model.draw(path, title=title, fold=False)
        files.append(path)
    [velocities] = paper.figures(run, folder)
    files.append(velocities.replace(folder / "dasilva_figure_9.png"))
    files.append(_modes_needed(modal_differences(run), folder / "dasilva_modes.png"))
    return files


def _modes_needed(differences: dict[int, float], path: Path) -> Path:
    figure = page(2.9)
    axes = figure.subplots()
    axes.semilogy(list(differences), [100 * d for d in differences.values()], marker="o", **DESIRED)
    axes.axhline(1.0, label="1 %", **ACTUAL)
    axes.set_xticks(list(differences))
    dress(axes, "modes of the beam", "difference, rms [%]")
    heading(axes, "Margolis's modal form against all degrees of freedom", lines_below=1)
    legend(axes)
    finish(figure, path)
    return path


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    motion = paper.test().run(paper.SECONDS)
    for name, value in numbers(motion).items():
        print(f"{name:52s} {value:.4g}")
    print(*draw(motion, out), sep="\n")
