"""From stepped sines on a rig to a compensator, and a hybrid test with it (after du Bois et al., 2010).

Problem: an orifice damper is to be tested as part of a structure of 20 t that is not in the laboratory. The
hydraulic actuator that moves the damper lags by some 10 ms. Identify it, invert the model, predict the
motion over the delay that is left, check the inverse with signals known beforehand, and couple the halves.
Run: python examples/damper_rig.py out
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import bondloop as bl
from bondloop.bondgraph import C, I, Model, One, Port, R, Se, bond
from bondloop.control import Direct, InverseModel, PolynomialPrediction
from bondloop.identify import stepped_sine, stepped_sine_plan
from bondloop.identify.experiment import Experiment
from bondloop.identify.process.frequency_fit import fit_frequency
from bondloop.results.figures.identification import bode
from bondloop.rigs import LVDT, Emulated, LoadCell, OrificeDamper, mounted
from bondloop.transfer import SerialPID, ServoHydraulic

RATE, LATENCY = 1000, 3e-3
TONES = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40]  # Hz: the band in which the compensator is to work
PUSH = bl.signals.Sweep(6000.0, 1.0, 12.0, 30.0)  # N, Hz, s
SIZES = ["0.125 mm", "0.25 mm", "0.375 mm", "0.5 mm"]


class Structure(Model):
    """A mass on a spring and a dashpot, pushed by a force; the damper is bonded to ``side``."""

    def __init__(self) -> None:
        self.push, self.v, self.side = Se("push"), One(), Port()
        self.push >> self.v >> [I(mass=20e3), C(stiffness=8e6), R(damping=8e3)]
        self.v >> self.side


def rig(physical: Model) -> Emulated:
    """Return the rig: actuator with its tuned inner loop, sensors, and 3 ms between computer and valve."""
    actuator = ServoHydraulic(SerialPID(30, 0.2, "3.6 ms"))
    sensors = {"displacement": LVDT("75 mm"), "force": LoadCell("25 kN")}
    return Emulated(physical, actuator, sensors=sensors, latency=LATENCY)


def damper() -> OrificeDamper:
    """Return the specimen, with 0.1 mm of play."""
    return OrificeDamper.standard(play="0.1 mm")


def responses(plan: Any, compensator: Any = None, ahead: float = 0.0) -> Any:
    """Drive the rig through the plan; return measured over demanded displacement."""
    data = Experiment(rig(mounted(damper())), RATE, compensator, ahead).stepped(plan)
    return stepped_sine(data.select("demand", "displacement"), plan)


def complete() -> Model:
    """Return structure and damper in one piece."""
    whole = Model("damped")
    whole.structure, whole.damper = Structure(), damper()
    bond(whole.structure.side, whole.damper.rod)
    return whole


def hybrid_test(controller: Any) -> bl.HybridTest:
    """Return the test: structure and damper, cut apart at the bond between them."""
    numerical, physical = complete().cut("structure.side >> damper.rod")
    return bl.HybridTest(
        numerical,
        rig=rig(physical),
        controller=controller,
        excitation={"structure.push": PUSH},
        rate=RATE,
        limits=bl.safety.Limits(displacement="10 mm", force="20 kN"),
        name="damper_rig",
    )


def main(folder: Path) -> dict[str, float]:
    """Identify, invert, verify, couple; return the figures that the test of this example asserts."""
    plan = stepped_sine_plan(TONES, SIZES, settling=0.5, periods=10, rate=RATE)
    found = responses(plan)
    f, H = np.tile(found.frequency, len(SIZES)), found.response.ravel()
    fits = {name: fit_frequency(f, H, name) for name in ("G1", "G2", "G1D", "G2D")}
    for name, fit in fits.items():
        print(f"{name:4} {fit.process}, fit {fit.fit:.1f} %")
    best = min(fits, key=lambda name: fits[name].aic())  # Akaike's criterion
    process = fits[best].process
    bode(f, H, {name: fit.process for name, fit in fits.items()}, path=folder / "damper_rig_models.png")

    known = responses(plan, InverseModel(process), ahead=process.delay)
    before, after = (float(np.abs(r.response - 1).max()) for r in (found, known))
    print(f"{best}, signals known: largest error {100 * before:.0f} % without it, {100 * after:.0f} % with")

    # The damper's bearing is stiff: the structure in one piece needs shorter steps than the tests.
    system = {"whole": complete().compile(["structure.v.flow"])}
    whole = bl.Simulation(system, excitation={"structure.push": PUSH}, rate=4 * RATE).run(30, every=4)
    velocity = whole["whole.structure.v.flow"]
    ahead = PolynomialPrediction(process.delay, order=6, span="10 ms", points=10)
    errors = {}
    for name, controller in (("none", Direct()), ("inverse", InverseModel(process, ahead))):
        run = hybrid_test(controller).run(30)
        errors[name] = run.metrics[0]["normalised_rms_error"]
        apart = float(np.linalg.norm(run["desired.velocity"] - velocity) / np.linalg.norm(velocity))
        errors[f"{name}, structure"] = apart
        print(f"{name}: {run.verdict} The structure moves {100 * apart:.1f} % off the one in one piece.")
    run.save(folder / "damper_rig.h5")
    groups = {"mass and rig": ["desired.displacement", "actual.displacement"], "force": ["force"]}
    bl.results.time_histories(run.record.between(10, 12), groups, path=folder / "damper_rig.png")
    return {**errors, "before": before, "after": after, "delay": process.delay, "order": process.order}


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    target.mkdir(parents=True, exist_ok=True)
    main(target)
