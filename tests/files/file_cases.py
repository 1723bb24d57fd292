"""What the tests of test files share: ready-made tests, a file by hand, a test with a law of one's own."""

import json
from pathlib import Path

import bondloop as bl
from bondloop import files, papers
from bondloop.bondgraph import C, I, Model, One, R, Se, Zero
from bondloop.engine.ir.tick_json import dump_tick

READY_MADE = papers.entries()
EXAMPLES = Path(__file__).parents[2] / "examples" / "papers"


def again(test):
    """Return the test of the file that a test writes."""
    return files.load_text(files.to_toml(test)).test


def same(test, other):
    """Whether ticks are the same to the last bit, and descriptions and files are."""
    assert json.dumps(dump_tick(test.tick)) == json.dumps(dump_tick(other.tick))
    assert test == other
    assert files.to_toml(test) == files.to_toml(other)


BUILDING = """
# A portal frame of three storeys, the damper at its top on the rig.
name = "frame"
rate = "500 Hz"
seconds = 2
cut = "frame.top.ux >> damper.rod"

[structure]
model = "Model"
bonds = ["frame.top.ux >> damper.rod"]

[structure.parts.frame]
model = "field_form"
forces = {"mid.ux" = "push"}

[structure.parts.frame.matrices]
matrices = "from_structure"
[structure.parts.frame.matrices.structure]
structure = "Structure"
nodes = {foot = [0.0], mid = [0.0, "1 m"], top = [0, 2]}
supports = {foot = []}
rayleigh = [0.1, 1e-4]
[structure.parts.frame.matrices.structure.elements]
low = {element = "Frame2D", a = "foot", b = "mid", E = "210 GPa", A = 1e-3, I = 1e-7, rho = "7850 kg/m3"}
high = {element = "Frame2D", a = "mid", b = "top", E = "210 GPa", A = 1e-3, I = 1e-7, rho = 7850}

[structure.parts.damper]
model = "Model"
bonds = ["rod >> v", "v >> spring", "v >> dashpot"]
[structure.parts.damper.parts]
rod = {part = "Port"}
v = {part = "One"}
spring = {part = "C", stiffness = "5 kN/m"}
dashpot = {part = "coulomb", force = "3 N", width = 0.01}

[rig]
rig = "Emulated"
actuators = {transfer = "MassSpringDamper", m = "2 kg", c = 300, k = "20 kN/m", drive = "position"}
latency = "2 ms"
sensors.force = {imperfection = "Sensor", imperfections = [{imperfection = "WhiteNoise", rms = "0.1 N"}]}

[controller]
controller = "PolynomialPrediction"
delay = "17 ms"
span = "30 ms"

[excitation."frame.push"]
signal = "file"
path = "push.csv"
unit = "kN"

[limits]
displacement = "20 mm"
"""


def written(folder, text=BUILDING):
    (folder / "push.csv").write_text("0,0\n0.5,1\n1,0\n")
    (folder / "frame.toml").write_text(text)
    return folder / "frame.toml"


def oscillator(law):
    whole = Model("oscillator")
    whole.push, whole.v, whole.mass = Se("F"), One(), I(mass=2.0)
    whole.spring = C(law=law) if law else C(stiffness=8.0)
    whole.w, whole.link, whole.damper = One(), C(stiffness=3.0), R(damping=1.0)
    whole.push >> whole.v >> [whole.mass, whole.spring]
    whole.z = Zero()
    whole.v >> whole.z >> whole.w >> whole.damper
    whole.z >> whole.link
    return whole


def hybrid(whole, controller=None):
    numerical, physical = whole.cut("v >> z")
    return bl.HybridTest(
        numerical,
        rig=bl.rigs.Emulated(physical, bl.transfer.MassSpringDamper(1.0, 20.0, 400.0, drive="position")),
        controller=controller or bl.control.Direct(),
        excitation={"F": bl.signals.Sine(1.0, 1.0)},
        rate=200,
        reference=(whole, ["v.flow"]),
        name="oscillator",
    )


def places(value, place=()):
    """Yield the place of every entry of a document."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*place, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from places(inner, (*place, i))
