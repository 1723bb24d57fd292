"""Devices and laws of one's own on moving ground, against the whole computed with SciPy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import bondloop as bl
from bondloop.bondgraph import Model, Zero, bond
from bondloop.devices import (
    Imposed,
    Inerter,
    KelvinVoigt,
    MRDamper,
    OdeSpecimen,
    TunedLiquidColumn,
    TunedMass,
)
from bondloop.errors import InputError
from bondloop.rigs import ShakingTable, Specimen
from bondloop.signals import Sine
from bondloop.structures import (
    Bar,
    Matrices,
    PointMass,
    Spring,
    Structure,
    attach,
    attach_bar,
    field_form,
    network_form,
)

M, D, K = 1000.0, 100.0, 4e4
FREQUENCY = 0.9
GROUND = {"ux": Sine(1.0, FREQUENCY)}
TOP = "frame.top.ux"
ACTUATOR = bl.transfer.MassSpringDamper(20.0, 1.2e3, 8e4)


def whole_of(device):
    whole = Model("whole")
    whole.frame = field_form(Matrices([[M]], [[D]], [[K]], ("top.ux",)), "frame")
    whole.d = device.element()
    bond(whole.frame.top.ux, whole.d)
    return whole


def hybrid(whole, **options):
    numerical, physical = whole.cut(f"{TOP} >> d")
    settings = {
        "controller": bl.control.VirtualJunction(ACTUATOR),
        "coupling": "continuous",
        "rate": 1000,
        "record": [f"numerical.{TOP}.displacement"],
        "ground": GROUND,
    }
    settings.update(options)
    return bl.HybridTest(numerical, rig=bl.rigs.Emulated(physical, ACTUATOR), **settings)


def exact(rates, times):
    """Return the frame's displacement relative to the ground.

    ``rates(t, x, v, ground velocity, states)`` gives the device's force and the rates of its states; the
    device is moved in space.
    """
    omega = 2 * np.pi * FREQUENCY

    def slope(t, y):
        x, v, far, *states = y
        pace = (1 - np.cos(omega * t)) / omega
        force, changed = rates(x + far, v + pace, x, v, states)
        return [v, (-D * v - K * x - force) / M - np.sin(omega * t), pace, *changed]

    count = len(rates(0, 0, 0, 0, [0] * 4)[1])
    return solve_ivp(slope, (0, times[-1]), [0] * (3 + count), rtol=1e-9, atol=1e-12, t_eval=times).y[0]


def tuned(x, v, _near, _slow, states):
    y, w = states[:2]
    force = 3600.0 * (x - y) + 90.0 * (v - w)
    return force, [w, force / 100.0]


def column(_x, v, _near, _slow, states):
    """The water in the tube's own coordinates, by Lagrange: its surface, and its speed in the tube.

    T = ½ ρ A (L y'² + 2 B y' x') and V = ρ A g y²; the head loss is ½ ρ A ζ |y'| y'.
    """
    area, length, width, loss, density = 0.02, 1.2, 0.8, 2.0, 1000.0
    y, p = states[:2]
    speed = (p / (density * area) - width * v) / length
    rate = -2 * density * area * 9.80665 * y - 0.5 * density * area * loss * abs(speed) * speed
    return width / length * rate, [speed, rate]


def brace(_far, _fast, x, v, _states):
    return 5e3 * x + 50.0 * v, []


def flywheel(_far, _fast, _near, v, states):
    u, w = states[:2]
    force = 1e5 * u + 500.0 * (v - w)
    return force, [v - w, force / 200.0]


CASES = {
    "tuned": (TunedMass(mass=100.0, stiffness=3600.0, damping=90.0), tuned, "absolute"),
    "brace": (KelvinVoigt(5e3, 50.0), brace, "relative"),
    "flywheel": (Inerter(inertance=200.0, stiffness=1e5, damping=500.0), flywheel, "relative"),
    "column": (
        TunedLiquidColumn(area=0.02, length=1.2, width=0.8, head_loss=2.0, density=1000.0),
        column,
        "absolute",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_devices_feel_the_ground_as_their_masses_do(name):
    """The tuned mass was taken for a brace: 24 % low."""
    device, rates, coordinates = CASES[name]
    whole = whole_of(device)
    alone = bl.Simulation({"own": whole}, ground=GROUND, rate=1000, record=[f"own.{TOP}.displacement"])
    run = alone.run(4.0)
    expected = exact(rates, run.time)
    size = np.abs(expected).max()
    assert np.abs(run[f"own.{TOP}.displacement"] - expected).max() < 2e-3 * size
    test = hybrid(whole)
    assert test.coordinates == coordinates
    assert np.abs(test.run(4.0)[f"numerical.{TOP}.displacement"] - expected).max() < 2e-3 * size


def test_a_tuned_mass_is_carried_in_a_pseudo_dynamic_test():
    whole = whole_of(TunedMass(mass=100.0, stiffness=3600.0, damping=90.0))
    rig = ShakingTable(Specimen.from_model(whole.cut(f"{TOP} >> d")[1]))
    test = bl.PseudoDynamicTest(
        whole.frame.matrices,
        scheme=bl.integrate.SubStep(8),
        rig=rig,
        interface="top.ux",
        ground=GROUND,
        time_step=2e-3,
    )
    run = test.run(4.0)
    expected = exact(tuned, run.time)
    assert test.coordinates == "absolute"
    difference = run["numerical.top.ux.displacement"] - expected
    assert np.abs(difference).max() < 0.01 * np.abs(expected).max()


def test_minus_m_r_with_a_device_that_has_mass_is_refused():
    for device, fault in ((TunedMass(), True), (TunedLiquidColumn(), True), (KelvinVoigt(), False)):
        whole = whole_of(device)
        whole.frame.apply_pattern({"top.ux": -M}, "quake", unit="m/s^2")
        options = {"ground": None, "excitation": {"frame.quake": Sine(1.0, 1.0)}}
        if fault:
            with pytest.raises(InputError, match=r"the specimen has mass too \(d\)"):
                hybrid(whole, **options)
        else:
            hybrid(whole, **options)


def test_a_damper_with_a_moving_mass_stands_on_the_ground_and_is_refused():
    with pytest.raises(InputError, match="d stands on the ground by d and has mass of its own"):
        hybrid(whole_of(MRDamper(moving_mass=5.0)))
    assert hybrid(whole_of(MRDamper())).coordinates == "relative"


class Pendulum(OdeSpecimen):
    """A law of one's own that does not say whether it has mass."""

    states = {"position": 0.0, "speed": 0.0}  # noqa: RUF012

    def rates(self, motion: Imposed):
        return {"position": self.speed, "speed": self.force(motion) / 100.0}

    def force(self, motion: Imposed):
        return 3600.0 * (motion.displacement - self.position) + 90.0 * (motion.velocity - self.speed)


class CarriedPendulum(Pendulum):
    """The same, which says it."""

    mass_is = "carried"


class Pad(OdeSpecimen):
    """Without states there is no mass."""

    stiffness: float = 5e3

    def force(self, motion: Imposed):
        return self.stiffness * motion.displacement


def test_laws_of_ones_own_say_whether_they_have_mass():
    with pytest.raises(InputError, match=r"d is a Pendulum, which does not say.*mass_is = 'none'"):
        hybrid(whole_of(Pendulum()))
    test = hybrid(whole_of(CarriedPendulum()))
    assert test.coordinates == "absolute"
    run = test.run(4.0)
    expected = exact(tuned, run.time)
    assert np.abs(run[f"numerical.{TOP}.displacement"] - expected).max() < 2e-3 * np.abs(expected).max()
    assert hybrid(whole_of(Pad())).coordinates == "relative"


def test_a_law_between_two_floors_that_go_alike_need_not_say_it():
    whole = Model("whole")
    eye = np.eye(2)
    whole.frame = field_form(Matrices(M * eye, D * eye, K * eye, ("a.ux", "b.ux")), "frame")
    whole.between, whole.d = Zero(), Pendulum().element()
    whole.frame.a.ux >> whole.between >> whole.frame.b.ux
    bond(whole.between, whole.d)
    names = [f"own.frame.{n}.ux.displacement" for n in "ab"]
    run = bl.Simulation({"own": whole}, ground=GROUND, rate=1000, record=names).run(1.0)
    floors = [run[name] for name in names]
    assert np.abs(floors[0] - floors[1]).max() < 1e-12 * np.abs(floors[0]).max()


# ---------------------------------------------------------------- attached, not bonded


@pytest.mark.parametrize("form", [field_form, network_form])
@pytest.mark.parametrize(
    ("device", "rates"),
    [(TunedMass(100.0, 3600.0, 90.0), tuned), (TunedLiquidColumn(0.02, 1.2, 0.8, 2.0), column)],
)
def test_a_mass_that_is_attached_goes_with_the_ground(form, device, rates):
    frame = form(Matrices([[M]], [[D]], [[K]], ("top.ux",)), "frame")
    attach(frame, "d", device, {"top.ux": 1.0})
    whole = Model("whole")
    whole.frame = frame
    name = f"s.{TOP}.displacement"
    run = bl.Simulation({"s": whole}, ground=GROUND, rate=2000, record=[name]).run(4.0)
    expected = exact(rates, run.time)
    assert abs(run[name] - expected).max() < 1e-4 * abs(expected).max()


class Untold(OdeSpecimen):
    """A law with a state that does not say whether it has mass."""

    states = {"y": 0.0}  # noqa: RUF012 - as a user writes it

    def rates(self, motion):
        return {"y": motion.velocity}

    def force(self, motion):
        return self.y + motion.displacement


@pytest.mark.parametrize(
    ("device", "sentence"), [(MRDamper(moving_mass=50.0), "has mass of its own"), (Untold(), "does not say")]
)
def test_what_is_not_known_of_an_attached_device_is_asked_for(device, sentence):
    whole = Model("whole")
    whole.frame = field_form(Matrices([[M]], [[D]], [[K]], ("top.ux",)), "frame")
    attach(whole.frame, "d", device, {"top.ux": 1.0})
    with pytest.raises(InputError, match=sentence):
        bl.Simulation({"s": whole}, ground=GROUND, rate=1000).run(0.1)


CHAIN, BETWEEN = 1e5, 2e5
"""Stiffnesses of the three bars from l by p and q to r, and of the device between p and q."""


def chain():
    s = Structure("chain")
    for i, name in enumerate("lpqr"):
        s.node(name, x=float(i))
    for a, b in ("lp", "pq", "qr"):
        s.add(Bar(a, b, E=CHAIN, A=1.0))
    for name in "pq":
        s.add(PointMass(name, m=100.0, dofs=("ux", "uy")))
        s.add(Spring(name, k=CHAIN, dof="uy"))
    s.support("l")
    s.support("r")
    return s


def fastened(how):
    """Return the chain with its device, and the name of the device's force."""
    s, whole = chain(), Model("whole")
    whole.h = field_form(s.assemble(), "h")
    device = KelvinVoigt(BETWEEN, 0.0)
    if how == "bond":
        whole.z, whole.d = Zero(), device.element()
        bond(whole.h.q.ux, whole.z)
        bond(whole.z, whole.h.p.ux)
        bond(whole.z, whole.d)
        return whole, "s.d.effort"
    if how == "attach":
        attach(whole.h, "d", device, {"q.ux": 1.0, "p.ux": -1.0})
        return whole, "s.h.d.effort"
    attach_bar(whole.h, "d", s, "p", "q", EA=BETWEEN)
    return whole, "s.h.d.end_0.effort"


@pytest.mark.parametrize("how", ["bond", "attach", "attach_bar"])
def test_supports_that_move_one_by_one_move_an_attached_device(how):
    omega = 2 * np.pi

    def slope(t, y):
        p, q, v, w = y
        foot = 0.5 / omega * (t - np.sin(omega * t) / omega)
        between = (CHAIN + BETWEEN) * (q - p)
        return [v, w, (CHAIN * (foot - p) + between) / 100, (-CHAIN * q - between) / 100]

    whole, name = fastened(how)
    run = bl.Simulation({"s": whole}, ground={"l.ux": Sine(0.5, 1.0)}, rate=2000, record=[name]).run(3.0)
    y = solve_ivp(slope, (0, run.time[-1]), [0] * 4, t_eval=run.time, rtol=1e-9, atol=1e-12).y
    expected = BETWEEN * (y[1] - y[0])  # up to 6.8 kN
    assert abs(run[name] - expected).max() < 1e-5 * abs(expected).max()


def test_an_attached_device_that_stands_on_supports_that_move_one_by_one_is_refused():
    whole = Model("whole")
    whole.h = field_form(chain().assemble(), "h")
    attach(whole.h, "d", KelvinVoigt(BETWEEN, 0.0), {"p.ux": 1.0})
    with pytest.raises(InputError, match="which support moves it cannot be told"):
        bl.Simulation({"s": whole}, ground={"l.ux": Sine(0.5, 1.0)}, rate=1000).run(0.1)
