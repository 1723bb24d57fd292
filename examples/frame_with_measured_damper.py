"""A frame of two storeys with a measured damper in the first: fitted, checked, rehearsed and reported."""

import sys
from dataclasses import replace
from pathlib import Path

import bondloop as bl
from bondloop.bondgraph import Model
from bondloop.identify import fit_specimen, fit_time, read_data
from bondloop.papers.mr_damper_building import DATA  # files of a laboratory; yours may lie anywhere
from bondloop.papers.silva_benchmark import DATA as RECORDS
from bondloop.structures import ShearBuilding, field_form


def main(folder: Path) -> bl.Run:
    """Return the rehearsal; write the report."""
    fit = fit_specimen(bl.devices.MRDamper(), {f.stem: read_data(f) for f in DATA.glob("*mm*.csv")}, scouts=0)
    damper = replace(fit.specimen, current=1.0, moving_mass=0.0)  # 1 A in its coil; its mass is the floor's
    sweep = read_data(DATA / "chirp0A.csv").select(input="command", output="position")
    actuator = fit_time(sweep.input, sweep.output, sweep.sample_period, "G1D").process
    storeys = ShearBuilding(["2 t", "2 t"], ["600 kN/m", "600 kN/m"], rayleigh=("0.2 1/s", "1 ms"))
    house = Model("house")
    house.frame, house.damper = field_form(storeys.assemble(), "frame"), damper.element()
    house.frame.floor[1].ux >> house.damper
    numerical, physical = house.cut("frame.floor[1].ux >> damper")
    quake = bl.results.read_two_columns(RECORDS / "elcentro.csv").scaled(0.35)
    rig = bl.rigs.Emulated(physical, actuator.actuator(), latency=actuator.delay)
    limits = bl.safety.Limits(displacement="40 mm", force="5 kN")
    ahead = bl.control.PolynomialPrediction(actuator.delay, span="50 ms", points=50)
    test = bl.HybridTest(
        numerical, rig=rig, controller=bl.control.InverseModel(actuator, ahead), ground={"ux": quake},
        rate=1000, limits=limits, reference=(house, ["frame.floor[2].ux.flow"]), name="house")  # fmt: skip
    print(fit, test.check(), (run := test.run(42)).verdict, sep="\n")
    folder.mkdir(parents=True, exist_ok=True)
    bl.report.write_report(run, folder / "house.html")
    return run


if __name__ == "__main__":
    main(Path(*sys.argv[1:]))
