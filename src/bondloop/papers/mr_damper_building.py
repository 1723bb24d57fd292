"""A magneto-rheological damper in the first storey of a building, as measured at UTFSM.

Three storeys in the computer, the damper between ground and first floor on the rig, El Centro below. Damper
and actuator are those of measurements: the damper's parameters are fitted to ten records of it at 0, 0.5 and
1 A, the actuator's to a sweep with the damper attached. A part of both is in ``mr_damper``, beside its
licence; docs/damper-from-measurements.md goes the way from the files to this test. The building is ours.

References
----------
Measurements: M. Quiroz, UTFSM, Chile, repository DanielMaurelE/vRTHS_AMBC_MRdamper, MIT licence, 2022.
Spencer, B. F., Dyke, S. J., Sain, M. K., Carlson, J. D. (1997). Phenomenological model for
magnetorheological dampers. J. Eng. Mech. 123(3), 230-238.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bondloop.engine.data import describable, number

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.devices import MRDamper
    from bondloop.hybrid import HybridTest
    from bondloop.identify import Data
    from bondloop.rehearsal import Run
    from bondloop.transfer import Process


RATE, SECONDS = 1000.0, 42.0
"""Samples a second, and how long El Centro lasts, s."""
DATA = Path(__file__).parent / "mr_damper"
"""Where the measurements are."""
CUT = "floors[0] >> damper"
"""The cut bond: what lies behind it, the damper, is physical."""
MASS, STIFFNESS, DAMPING = 2000.0, 6.0e5, 1200.0
"""Of each floor in kg, of each storey in N/m and N s/m: 1.23, 3.44 and 4.97 Hz, damped by 0.8 to 3.1 %."""


def measurements() -> dict[str, Data]:
    """Return the measurements of the damper that are here, by amplitude, frequency and current.

    >>> list(measurements())[:2]
    ['10mm1Hz0A', '10mm1Hz0x5A']
    """
    from bondloop.identify import read_data

    return {path.stem: read_data(path) for path in sorted(DATA.glob("*mm*Hz*A.csv"))}


def damper(current: float = 1.0) -> MRDamper:
    """Return the damper as it was fitted to all ten records, whole (rms errors 3 to 8.6 %).

    Parameters
    ----------
    current
        In its coil, A.
    """
    from bondloop.devices import MRDamper

    return MRDamper(
        current=current,
        saturation_current=1.8818,
        yield_force=42.796,
        yield_force_per_ampere=607.74,
        yield_displacement=3.2545e-4,
        beta=0.0,
        exponent=1.1134,
        damping=323.54,
        damping_per_ampere=4610.0,
        pre_yield_damping=7577.4,
        pre_yield_damping_per_ampere=95950.0,
        thinning_force=120.29,
        thinning_force_per_ampere=529.45,
        thinning_velocity=0.024304,
        stiffness=501.67,
        rest_position=-2.4318e-3,
        parallel_stiffness=783.34,
        moving_mass=11.313,
    )


def actuator() -> Process:
    """Return the actuator as it was fitted to the whole sweep: a first-order lag and a delay (fit 95.9 %)."""
    from bondloop.transfer import first_order

    return first_order(gain=1.0015, time_constant=0.022111, delay=0.0039677)


@describable("model", "mr-damper-building")
def model(current: float = 1.0) -> Model:
    """Return the building with the damper; displacements are relative to the ground.

    The ground shakes the floors. What it does to the damper's rod (11 kg beside 2 t) is left out, as on a rig
    that imposes the relative motion.

    Parameters
    ----------
    current
        In the damper's coil, A.
    """
    from bondloop.bondgraph import Model, One, Zero
    from bondloop.bondgraph.elements import C, I, Input, MSe, R

    whole = Model("building")
    whole.ground, whole.floors = Input("ground", unit="m/s^2"), [One() for _ in range(3)]
    whole.loads = [MSe(lambda a: -MASS * a) for _ in range(3)]
    whole.storeys, whole.columns = [One() for _ in range(3)], [C(stiffness=STIFFNESS) for _ in range(3)]
    whole.shear = [Zero() for _ in range(2)]
    for load, floor in zip(whole.loads, whole.floors, strict=True):
        whole.ground >> load >> floor >> I(mass=MASS)
    for storey, column in zip(whole.storeys, whole.columns, strict=True):
        storey >> [column, R(damping=DAMPING)]
    whole.floors[0] >> whole.storeys[0]
    for i, shear in enumerate(whole.shear):
        whole.floors[i + 1] >> shear >> whole.storeys[i + 1]
        shear >> whole.floors[i]
    whole.damper = damper(number(current, "current", "A")).element()
    whole.floors[0] >> whole.damper
    return whole


def test(
    current: float = 1.0, scale: float = 0.35, controller: str = "inverse", noise: bool = True
) -> HybridTest:
    """Return the hybrid test.

    Parameters
    ----------
    current
        In the damper's coil, A.
    scale
        Of El Centro 1940, north-south.
    controller
        ``inverse``: the actuator's lag is inverted and its delay predicted; ``none``: the demand is sent.
    noise
        Whether the sensors have any.
    """
    from bondloop.control import Direct, InverseModel, PolynomialPrediction
    from bondloop.errors import InputError, unknown_name
    from bondloop.hybrid import HybridTest
    from bondloop.papers.silva_benchmark import ground
    from bondloop.rigs import LVDT, Emulated, LoadCell
    from bondloop.safety import Limits

    process = actuator()
    controllers = {
        "inverse": InverseModel(process, PolynomialPrediction(process.delay, span=0.05, points=50)),
        "none": Direct(),
    }
    if controller not in controllers:
        raise InputError(unknown_name("controller", controller, controllers))
    numerical, physical = model(current).cut(CUT)
    sensors = {"displacement": LVDT("50 mm"), "force": LoadCell("10 kN")} if noise else {}
    return HybridTest(
        numerical,
        rig=Emulated(physical, process.actuator(), latency=process.delay, sensors=sensors, substeps=4),
        controller=controllers[controller],
        excitation={"ground": ground(scale=scale)},
        rate=RATE,
        reference=(model(current), [f"columns[{i}].displacement" for i in range(3)]),
        limits=Limits(displacement="40 mm", force="5 kN"),
        record=[f"numerical.columns[{i}].displacement" for i in (1, 2)],
        name="mr_damper_building",
    )


def findings(run: Run) -> dict[str, float]:
    """Return the storeys' peak drifts, how far they are from the reference's, and what the damper did.

    Drifts are in mm and their errors in per cent of the reference's rms; the damper's peak force is in N and
    its work in J.
    """
    import numpy as np

    numbers = {}
    for i in range(3):
        drift, meant = (run[f"{half}.columns[{i}].displacement"] for half in ("numerical", "reference"))
        numbers[f"drift_{i + 1}_mm"] = 1e3 * float(np.abs(drift).max())
        error = np.sqrt(np.mean((drift - meant) ** 2) / np.mean(meant**2))
        numbers[f"error_{i + 1}_percent"] = 100 * float(error)
    force, position = run["force"], run["actual.displacement"]
    numbers["force_N"] = float(np.abs(force).max())
    numbers["work_J"] = float(abs(np.trapezoid(force, position)))
    return numbers
