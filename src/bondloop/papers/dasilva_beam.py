"""The beam with a suspended mass of da Silva and Speranza Neto 1994, figure 7.

A simply supported beam of three Euler-Bernoulli elements. A mass hangs on a spring and damper from the
first inner node; a force acts on the second. The same finite-element model is written as a bond graph in
two forms: the network form (a spring between every coupled pair of degrees of freedom and one to ground: 24
states) and the field form (14 states). Both are run beside the plain second-order equations M ü + C u̇ + K
u = F.

The paper gives no numbers. Chosen here: a steel beam 3 m long, 60 mm by 10 mm; lumped masses; a suspended
mass of a tenth of the beam's, on a spring tuned to 80 % of the beam's first frequency with 5 % damping; a
force of 10 N as a sine near the first frequency of the beam.

References
----------
da Silva, R. R., Speranza Neto, M. (1994). The modelling of structural dynamics using bond graphs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import Model, One, Port, Zero, bond
from bondloop.bondgraph.elements import C, I, R
from bondloop.engine.data import describable
from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.engine import System
    from bondloop.hybrid import Simulation
    from bondloop.rehearsal import Run
    from bondloop.structures import Matrices


SECONDS = 4.0

LENGTH, WIDTH, DEPTH = 3.0, 0.06, 0.01
"""Beam, m."""

YOUNG, DENSITY = 210e9, 7850.0
"""Steel: Pa, kg/m^3."""

FORCE = 10.0
"""Amplitude of the force in N."""

OUTPUTS = {
    "suspended mass": "suspension.v.flow",
    "forcing point": "beam.n3.uy.flow",
    "interaction point": "beam.n2.uy.flow",
}
"""The three velocities of figure 9."""


class Suspension(Model):
    """A mass on a spring and a damper side by side, hung from its port."""

    def __init__(self, m: float, c: float, k: float) -> None:
        self.hook = Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.hook >> self.force >> self.v
        self.force >> self.stretch
        self.mass = I(mass=m)
        self.v >> self.mass
        self.spring, self.damper = C(stiffness=k), R(damping=c)
        self.stretch >> [self.spring, self.damper]


def matrices() -> Matrices:
    """Return M, C, K of the beam alone, degrees of freedom in the order of figure 7 (b)."""
    from bondloop.structures import Beam, Structure

    s = Structure("beam")
    for i in range(4):
        s.node(f"n{i + 1}", x=i * LENGTH / 3)
    for i in range(3):
        s.add(Beam(f"n{i + 1}", f"n{i + 2}", E=YOUNG, A=WIDTH * DEPTH, I=WIDTH * DEPTH**3 / 12, rho=DENSITY))
    s.support("n1", "uy")
    s.support("n4", "uy")
    found = s.assemble(mass="lumped")
    return found.sub(["n1.rz", "n2.uy", "n2.rz", "n3.uy", "n3.rz", "n4.rz"])


def _suspension(ms: Matrices) -> tuple[float, float, float]:
    from scipy.linalg import eigh

    first = float(np.sqrt(eigh(ms.K.toarray(), ms.M.toarray(), eigvals_only=True)[0]))
    m = 0.1 * DENSITY * WIDTH * DEPTH * LENGTH
    omega = 0.8 * first
    return m, 2 * 0.05 * m * omega, m * omega**2


def suspension() -> Suspension:
    """Return the suspended mass with its spring and damper."""
    return Suspension(*_suspension(matrices()))


@describable("model", "dasilva-beam")
def model(form: str = "network") -> Model:
    """Return the beam with its suspended mass as a bond graph.

    Parameters
    ----------
    form
        ``network`` (24 states) or ``field`` (14 states).
    """
    from bondloop.structures import field_form, network_form

    forms = {"network": network_form, "field": field_form}
    if form not in forms:
        raise InputError(unknown_name("form", form, forms))
    ms = matrices()
    whole = Model(f"dasilva_beam_{form}")
    whole.beam = forms[form](ms, "beam", forces={"n3.uy": "F"})
    whole.suspension = suspension()
    bond(whole.beam.n2.uy, whole.suspension.hook)
    return whole


@describable("system", "dasilva-beam-plain")
def _plain() -> System:
    """Return the finite-element equations with the suspended mass, in first-order form."""
    from bondloop.engine import system_from_matrices

    ms = matrices()
    m, c, k = _suspension(ms)
    n = len(ms) + 1
    M, D, K = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    M[:-1, :-1], K[:-1, :-1], M[-1, -1] = ms.M.toarray(), ms.K.toarray(), m
    at = ms.index("n2.uy")
    for matrix, value in ((K, k), (D, c)):
        matrix[at, at] += value
        matrix[-1, -1] += value
        matrix[at, -1] -= value
        matrix[-1, at] -= value
    inverse = np.linalg.inv(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ K, -inverse @ D]])
    B = np.concatenate([np.zeros(n), inverse[:, ms.index("n3.uy")]])[:, None]
    rows = [n + n - 1, n + ms.index("n3.uy"), n + at]
    output = np.zeros((3, 2 * n))
    output[range(3), rows] = 1.0
    return system_from_matrices(
        A, B, output, np.zeros((3, 1)), inputs=["beam.F"], outputs=list(OUTPUTS.values()),
        units={"beam.F": "N"} | dict.fromkeys(OUTPUTS.values(), "m/s"), name="plain",
    )  # fmt: skip


def test(frequency: float = 0.0, rate: float = 5000.0) -> Simulation:
    """Return the three descriptions side by side.

    Parameters
    ----------
    frequency
        Of the force in Hz; 0 takes 90 % of the beam's first natural frequency.
    rate
        Steps a second (Newmark's average acceleration, so any rate is stable).
    """
    from scipy.linalg import eigh

    from bondloop.hybrid import Simulation
    from bondloop.integrate import NewmarkAverage
    from bondloop.signals import Sine

    ms = matrices()
    if not frequency:
        first = float(np.sqrt(eigh(ms.K.toarray(), ms.M.toarray(), eigvals_only=True)[0])) / (2 * np.pi)
        frequency = 0.9 * first
    systems = {form: model(form).compile(list(OUTPUTS.values())) for form in ("network", "field")}
    return Simulation(
        {**systems, "plain": _plain()},
        excitation={"beam.F": Sine(FORCE, frequency)},
        rate=rate,
        integrator=NewmarkAverage(),
        name="dasilva_beam",
    )


def findings(run: Run) -> dict[str, float]:
    """How many states each form has, how far the forms differ from finite elements, and the peak velocities.

    Differences are the largest of the three velocities over the run, each relative to its peak.
    """
    found: dict[str, float] = {}
    peaks = {label: float(np.abs(run[f"plain.{path}"]).max()) for label, path in OUTPUTS.items()}
    states = run.record.description["states"]
    for form in ("network", "field"):
        found[f"states_of_the_{form}_form"] = float(len(states[form]))
        found[f"{form}_form_minus_finite_elements"] = max(
            float(np.abs(run[f"{form}.{path}"] - run[f"plain.{path}"]).max()) / peaks[label]
            for label, path in OUTPUTS.items()
        )
    for label, peak in peaks.items():
        found[f"peak_velocity_of_the_{label.replace(' ', '_')}"] = peak
    return found


def figures(run: Run, folder: Path) -> list[Path]:
    """Draw the velocities of figure 9: both bond-graph forms over the plain solution."""
    from bondloop.results.figures import time_histories

    forms = {"finite elements": "plain", "network form": "network", "field form": "field"}
    groups = {
        label: {form: f"{word}.{path}" for form, word in forms.items()} for label, path in OUTPUTS.items()
    }
    path = folder / "velocities.png"
    time_histories(run.record, groups, path=path)
    return [path]
