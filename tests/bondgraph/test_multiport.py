"""Elements of one's own, against the same built from the elements that are there."""

import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from bondloop.bondgraph import (
    GY,
    MGY,
    MR,
    TF,
    C,
    Df,
    Function,
    I,
    Input,
    Model,
    MSe,
    Multiport,
    One,
    Port,
    R,
    Se,
    Sf,
    SignalIntegrator,
    Zero,
)
from bondloop.control import VirtualJunction
from bondloop.engine.codegen import Runner
from bondloop.engine.data.ranges import Range
from bondloop.errors import BondloopError, CausalityError, InputError, ModelError, SolveError
from bondloop.hybrid import HybridTest
from bondloop.hybrid.simulation import Simulation
from bondloop.rigs import Emulated
from bondloop.signals import Sine
from bondloop.transfer import MassSpringDamper

sys.path.insert(0, str(Path(__file__).parents[1] / "hybrid"))
from small_pair import halves

DRAWN = settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])


# ---------------------------------------------------------------- the elements that are there, once more


class Inertia(Multiport):
    ports = ("p",)

    def equations(self, p, mass):
        return {p.flow: p.momentum / mass}


class Spring(Multiport):
    ports = ("p",)

    def equations(self, p, stiffness):
        return {p.effort: stiffness * p.displacement}


class Damper(Multiport):
    ports = ("p",)

    def equations(self, p, damping):
        return {p.effort: damping * p.flow}


class Transformer(Multiport):
    ports = ("a", "b")

    def equations(self, a, b, modulus):
        return {a.effort: modulus * b.effort, b.flow: -modulus * a.flow}


class Gyrator(Multiport):
    ports = ("a", "b")

    def equations(self, a, b, ratio):
        return {a.effort: -ratio * b.flow, b.effort: ratio * a.flow}


OWN = {I: Inertia, C: Spring, R: Damper, TF: Transformer, GY: Gyrator}


def random_graph(seed, own):
    """Junctions with rings, one-ports and two-ports; with elements of one's own, or the built-in ones."""
    rng = random.Random(seed)
    model = Model("random")
    count = rng.randint(1, 6)
    model.j = junctions = [rng.choice([Zero, One])() for _ in range(count)]
    edges = [(rng.randrange(i), i) for i in range(1, count)]
    edges += [tuple(rng.sample(range(count), 2)) for _ in range(rng.randint(0, 2)) if count > 2]
    parts = 0

    def element(kind, **value):
        nonlocal parts
        part = (OWN[kind] if own else kind)(**value)
        setattr(model, f"e{parts}", part)
        parts += 1
        return part

    for a, b in edges:
        kind = rng.choice([None, None, TF, GY])
        value = rng.uniform(0.5, 2.0)
        if kind is None:
            junctions[a] >> junctions[b]
            continue
        two = element(kind, **{"modulus" if kind is TF else "ratio": value})
        junctions[a] >> (two.a if own else two)
        (two.b if own else two) >> junctions[b]
    for i, junction in enumerate(junctions):
        for _ in range(rng.randint(1, 2)):
            kind = rng.choice([I, C, R])
            part = element(kind, **{{I: "mass", C: "stiffness", R: "damping"}[kind]: rng.uniform(0.3, 3)})
            by_name = rng.random() < 0.5
            if rng.random() < 0.7:
                junction >> (part.p if own and by_name else part)
            else:
                part >> junction
        if rng.random() < 0.3:
            (Se if rng.random() < 0.5 else Sf)(f"u{i}") >> junction
    return model


def rates_of(model, seed):
    """Return the rates at a random state by name, or the kind of refusal."""
    try:
        system = model.compile()
        rng = np.random.default_rng(seed)
        x, u, r = (
            rng.normal(size=len(n)).tolist() for n in (system.states, system.inputs, system.input_rates)
        )
        rates = system.rates(x, u, r, list(system.values().values()))
    except BondloopError as error:
        return type(error)
    return dict(zip(system.states, rates, strict=True))


@DRAWN
@given(seed=st.integers(0, 10**9))
@example(48428)  # a ring through a gyrator of one's own, round which flows cancel
@example(49922)  # one through transformers and gyrators, with other states
def test_elements_of_ones_own_are_as_good_as_those_that_are_there(seed):
    built_in, own = (rates_of(random_graph(seed, which), seed) for which in (False, True))
    if isinstance(built_in, type):
        assert own is built_in
        return
    assert list(own) == list(built_in)
    scale = max(map(abs, built_in.values()), default=1.0)
    assert list(own.values()) == pytest.approx(list(built_in.values()), rel=1e-8, abs=1e-9 * scale)


@pytest.mark.parametrize("own", [False, True])
def test_a_ring_round_which_flows_cancel_is_seen_beside_another_part(own):
    """What a mass that is bonded to nothing of it does changes nothing: not what follows, nor the rates."""
    alone = rates_of(random_graph(48428, own), 0)
    both = Model("both")
    both.ring, both.v = random_graph(48428, own), One()
    Se("u") >> both.v >> I(mass=2.0)
    system = both.compile()
    start = np.random.default_rng(0).normal(size=len(alone))  # as in rates_of, by their names
    states = {f"ring.{name}": x for name, x in zip(alone, start, strict=True)} | {"I.momentum": 1.0}
    x = [states[name] for name in system.states]
    rates = dict(zip(system.states, system.rates(x, [3.0], [], list(system.values().values())), strict=True))
    assert rates.pop("I.momentum") == 3.0
    assert rates == pytest.approx({f"ring.{name}": rate for name, rate in alone.items()}, rel=1e-9)


# ---------------------------------------------------------------- a centrifugal pump


class Pump(Multiport):
    """Centrifugal pump after Euler: ideal head a w^2 - b w Q, with losses in the fluid and at the shaft."""

    ports = ("shaft", "fluid")

    def equations(self, shaft, fluid, a, b, loss, friction):
        w, Q = shaft.flow, -fluid.flow  # the fluid flows out
        head = a * w - b * Q
        return {
            shaft.effort: head * Q + friction * w,
            fluid.effort: head * w - loss * Q * sp.Abs(Q),
            "head": head * w,
        }


PUMP = {"a": 3.0, "b": 120.0, "loss": 4e5, "friction": 0.02}


def pumping(own):
    """A motor drives a pump that fills a pipe with friction; with the element, or a modulated gyrator."""
    model = Model("pumping")
    model.w, model.Q = One(), One()
    Se("torque") >> model.w >> I(inertia=0.05)
    model.Q >> [I(inertance=2e3), R(law=lambda q: 3e5 * q * sp.Abs(q))]
    if own:
        model.pump = Pump(**PUMP)
        model.w >> model.pump.shaft
        model.pump.fluid >> model.Q
    else:
        model.pump, model.speed, model.flow = MGY(lambda w, q: 3.0 * w - 120.0 * q), Df(), Df()
        model.w >> model.pump >> model.Q
        model.w >> model.speed >> model.pump
        model.Q >> model.flow >> model.pump
        model.w >> R(damping=0.02)
        model.Q >> R(law=lambda q: 4e5 * q * sp.Abs(q))
    return model


def test_a_pump_equals_a_modulated_gyrator_with_resistors():
    one, other = (pumping(own).compile(outputs=["w.flow", "Q.flow"]) for own in (True, False))
    runs = [s.simulate(3.0, {"torque": 2.0}, times=np.linspace(0, 3, 31)) for s in (one, other)]
    for path in ("w.flow", "Q.flow"):
        assert runs[0][path] == pytest.approx(runs[1][path], rel=1e-7, abs=1e-12)
    w, Q = runs[0]["w.flow"], runs[0]["Q.flow"]
    assert runs[0]["pump.head"] == pytest.approx(3.0 * w**2 - 120.0 * w * Q, rel=1e-12)


def test_a_pump_that_must_give_its_flow():
    # A tank at the outlet gives the pressure: Q is the root of a w^2 - b w Q - loss Q |Q| = p.
    model = Model("filling")
    model.w, model.pump = Sf("w"), Pump(**PUMP)
    model.w >> model.pump.shaft
    model.tank = C(capacitance=1e-6)
    model.pump.fluid >> model.tank
    system = model.compile(outputs=["tank.flow", "pump.shaft.effort"])
    for w, pressure in ((100.0, 0.0), (100.0, 2e4), (60.0, 2e4), (0.5, 50.0)):
        wanted = brentq(
            lambda q, w=w, p=pressure: 3 * w**2 - 120 * w * q - 4e5 * q * abs(q) - p, -1, 1, xtol=1e-16
        )
        f = system.function(list(system.output_exprs.values()))
        got = f([pressure * 1e-6], [w], [0.0] * len(system.input_rates), list(system.values().values()))
        assert got[0] == pytest.approx(wanted, rel=1e-9, abs=1e-14)
        assert got[1] == pytest.approx((3 * w - 120 * wanted) * wanted + 0.02 * w, rel=1e-9, abs=1e-12)


def test_a_pump_comes_to_rest_and_is_linearised():
    system = pumping(own=True).compile(outputs=["w.flow", "Q.flow"])
    rest = system.steady_state({"torque": 2.0})
    w, Q = rest["I.momentum"] / 0.05, rest["I2.momentum"] / 2e3
    assert (3 * w - 120 * Q) * Q + 0.02 * w == pytest.approx(2.0, rel=1e-9)
    assert (3 * w - 120 * Q) * w == pytest.approx(7e5 * Q**2, rel=1e-8)
    # The same slopes as the model of built-in elements has.
    other = pumping(own=False).compile()
    spectra = [np.sort_complex(s.linearise(rest, {"torque": 2.0}).poles()) for s in (system, other)]
    assert spectra[0] == pytest.approx(spectra[1], rel=1e-9)


# ---------------------------------------------------------------- a tyre with a state


class Tyre(Multiport):
    """Tyre in one direction: its tread lags behind with a relaxation length (a state), and slips."""

    ports = ("road",)
    states = ("tread",)

    def equations(self, road, tread, stiffness, length=0.3):
        return {
            road.effort: stiffness * tread.value,
            tread.rate: road.flow - sp.Abs(road.flow) * tread.value / length,
        }


def rolling(own):
    model = Model("rolling")
    model.v = One()
    Se("F") >> model.v >> [I(mass=20.0), R(damping=5.0)]
    if own:
        model.tyre = Tyre(stiffness=4000.0, initial={"tread": 0.01})
        model.v >> model.tyre
    else:
        model.speed, model.lag, model.tread = (
            Df(),
            Function(lambda v, z: v - sp.Abs(v) * z / 0.3),
            SignalIntegrator(0.01),
        )
        model.force = MSe(lambda z: -4000.0 * z)
        model.v >> model.speed >> model.lag >> model.tread >> model.force >> model.v
        model.tread >> model.lag
    return model


def test_a_tyre_with_a_state_equals_signals():
    one, other = (rolling(own).compile(outputs=["v.flow"]) for own in (True, False))
    assert one.states == ("I.momentum", "tyre.tread")
    drive = {"F": lambda t: 200 * math.sin(8 * t)}
    runs = [s.simulate(2.0, drive, times=np.linspace(0, 2, 41)) for s in (one, other)]
    assert runs[0]["v.flow"] == pytest.approx(runs[1]["v.flow"], abs=1e-8)
    assert runs[0]["tyre.tread"] == pytest.approx(runs[1]["tread.value"], abs=1e-9)


# ---------------------------------------------------------------- signals, declared causality, sub-models


class Brake(Multiport):
    ports = ("drum",)
    inputs = ("pedal",)

    def equations(self, drum, pedal, c):
        return {drum.effort: c * pedal * drum.flow}


def test_an_element_that_takes_a_signal_equals_a_modulated_resistor():
    systems = []
    for brake in (Brake(c=3.0), MR(lambda p: 3.0 * p)):
        model = Model("braked")
        model.v, model.brake = One(), brake
        Se("F") >> model.v >> [I(mass=2.0), model.brake]
        Input("pedal") >> model.brake
        systems.append(model.compile(outputs=["v.flow"]))
    for x, F, pedal in ((1.0, 2.0, 0.5), (-3.0, 0.0, 2.0)):
        rates = [
            s.rates([x], [{"F": F, "pedal": pedal}[u] for u in s.inputs], [], list(s.values().values()))
            for s in systems
        ]
        assert rates[0] == pytest.approx(rates[1], rel=1e-14)
    unheard = Model("unheard")
    unheard.v, unheard.brake = One(), Brake(c=1.0)
    unheard.v >> [I(mass=1.0), unheard.brake]
    with pytest.raises(ModelError, match=r"brake \(Brake\) needs a signal"):
        unheard.compile()
    Input("a") >> unheard.brake
    Input("b") >> unheard.brake
    with pytest.raises(ModelError, match=r"takes 1 signals \(pedal\); found 2"):
        unheard.compile()


class Friction(Multiport):
    """Coulomb friction has no inverse: its causality is declared."""

    ports = ("p",)
    fixed = ("p",)

    def equations(self, p, limit):
        return {p.effort: limit * sp.sign(p.flow)}


def test_a_declared_causality_is_kept_or_the_conflict_explained():
    model = Model("sliding")
    model.v, model.friction = One(), Friction(limit=2.0)
    Se("F") >> model.v >> [I(mass=1.0), model.friction]
    assert model.compile().rates([3.0], [5.0], [], [1.0, 2.0]) == [3.0]
    pulled = Model("pulled")
    pulled.F, pulled.friction = Se("F"), Friction(limit=2.0)
    pulled.F >> pulled.friction
    with pytest.raises(CausalityError, match=r"Friction"):
        pulled.compile()


def test_what_two_ports_cannot_give_together_is_refused_by_name():
    # A gyrator with an effort given on one side cannot take a flow on the other.
    model = Model("torn")
    model.e, model.f, model.g = Se("e"), Sf("f"), Gyrator(ratio=2.0)
    model.e >> model.g.a
    model.f >> model.g.b
    with pytest.raises(CausalityError, match=r"fixed twice.*equations of g \(Gyrator\) tie its ports"):
        model.compile()


def test_an_element_in_a_sub_model_has_its_path_and_its_ranges():
    class Station(Model):
        def __init__(self):
            self.inlet, self.outlet = Port(), Port()
            self.pump = Pump(**PUMP, ranges={"a": Range(above=0)})
            self.inlet >> self.pump.shaft
            self.pump.fluid >> self.outlet

    model = Model("plant")
    model.w, model.Q, model.station = One(), One(), Station()
    Se("torque") >> model.w >> I(inertia=0.05)
    model.w >> model.station.inlet
    model.station.outlet >> model.Q
    model.Q >> [I(inertance=2e3), R(resistance=1e4)]
    system = model.compile(outputs=["station.pump.fluid.effort", "station.pump.head"])
    assert system.parameters["station.pump.a"] == 3.0
    assert "station.pump.a" in str(system.equations())
    with pytest.raises(InputError, match=r"station\.pump\.a: expected a number above 0"):
        system.values({"station.pump.a": -1.0})
    assert model.copy().compile().states == system.states
    assert (
        str(model.bond_at("station.pump.fluid >> station.outlet")) == "station.pump.fluid >> station.outlet"
    )


def test_a_drawing_shows_it(tmp_path):
    model = pumping(own=True)
    model.draw(tmp_path / "pump.svg")
    assert (tmp_path / "pump.svg").stat().st_size > 5000


# ---------------------------------------------------------------- in the tick and in a hybrid test


@pytest.mark.parametrize("build", [pumping, rolling])
def test_c_and_python_agree(build):
    system = build(own=True).compile(outputs=["w.flow" if build is pumping else "v.flow"])
    (u,) = system.inputs
    test = Simulation({"s": system}, excitation={u: Sine(3.0, 1.0)}, rate=1000.0)
    one, other = (Runner(test.tick, b).run(500) for b in ("c", "numpy"))
    assert one.finished, one.message
    for path, values in one.channels.items():
        assert np.abs(values - other.channels[path]).max() <= 1e-12 * max(1e-30, np.abs(values).max())
    # And both are the solution: RK4 at 1 kHz against a finer computation.
    fine = system.simulate(0.5, {u: lambda t: 3 * math.sin(2 * math.pi * t)})
    output = f"s.{system.outputs[0]}"
    wanted = np.interp(one.time, fine.time, fine[system.outputs[0]])
    assert one.channels[output] == pytest.approx(wanted, abs=2e-5 * np.abs(wanted).max())


class Column(Multiport):
    """A hardening spring with its own damping, as a specimen."""

    ports = ("top",)

    def equations(self, top, k, h, c):
        return {top.effort: k * top.displacement + h * top.displacement**3 + c * top.flow}


def test_in_a_hybrid_test():
    # The same test with the specimen as built-in elements: every channel agrees.
    runs = []
    for specimen in (
        {"mass": I(mass=0.5), "column": Column(k=1.5e3, h=1e5, c=3.0)},
        {"mass": I(mass=0.5), "spring": C(law=lambda d: 1.5e3 * d + 1e5 * d**3), "damper": R(damping=3.0)},
    ):
        numerical, physical = halves("pair", specimen)
        actuator = MassSpringDamper(1.0, 30.0, 900.0)
        test = HybridTest(
            numerical, rig=Emulated(physical, actuator), controller=VirtualJunction(actuator),
            excitation={"v_wall": Sine(0.05, 2.0)}, rate=1000,
        )  # fmt: skip
        runs.append(test.run(1.0))
    shared = set(runs[0].record.channels) & set(runs[1].record.channels)
    assert len(shared) > 5
    for path in shared:
        a, b = runs[0][path], runs[1][path]
        assert np.abs(a - b).max() <= 1e-9 * max(1.0, np.abs(b).max())


# ---------------------------------------------------------------- bad classes


def own_class(equations, **attributes):
    return type("Thing", (Multiport,), {"ports": ("p",), "equations": staticmethod(equations), **attributes})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (Multiport, ModelError, r"Multiport has no ports"),
        (
            own_class(lambda _p: {}, ports="p"),
            ModelError,
            r"Thing.ports: expected names such as",
        ),
        (
            own_class(lambda _q: {}),
            ModelError,
            r"Thing.equations: expected the arguments p, then",
        ),
        (own_class(lambda p: dict.fromkeys([p.name], 0)), ModelError, r"Thing: no equation for port p"),
        (
            own_class(lambda p: [p.effort]),
            ModelError,
            r"expected equations as \{variable: formula",
        ),
        (
            own_class(lambda p: {p.effort: 0, p.flow: 0}),
            ModelError,
            r"port p has two equations",
        ),
        (
            own_class(lambda p: {sp.Symbol("z"): p.flow}),
            ModelError,
            r"an equation is written for z",
        ),
        (
            own_class(lambda p: {p.effort: math.sin(p.flow)}),
            ModelError,
            r"functions of bondloop\.math or SymPy",
        ),
        (
            own_class(lambda p, k: {p.effort: k * p.flow}),
            InputError,
            r"'k' has no value; give k=",
        ),
        (lambda: own_class(lambda p, k: {p.effort: k})(k=1, j=2), InputError, r"unknown parameter 'j'"),
        (lambda: own_class(lambda p, k: {p.effort: k})(k="3 apples"), InputError, r"Thing\(k\)"),
        (
            own_class(lambda p: {p.effort: p.flow}, fixed=("q",)),
            ModelError,
            r"unknown port 'q'",
        ),
        (own_class(lambda path: {path.effort: 0}, ports=("path",)), ModelError, r"cannot be called 'path'"),
        (
            own_class(lambda p, p2: {p.effort: p2.flow}, ports=("p", "p")),
            ModelError,
            r"expected the arguments p, p",
        ),
        (
            own_class(lambda p, z: {p.effort: z.value}, states=("z",)),
            ModelError,
            r"no equation for the rate of z",
        ),
        (
            own_class(lambda p, z: {p.effort: z.rate, z.rate: p.flow}, states=("z",)),
            ModelError,
            r"rate of a state stands on the right",
        ),
        (
            lambda: own_class(lambda p: {p.effort: p.flow})(initial={"p": 1.0}),
            InputError,
            r"unknown store 'p'",
        ),
    ],
)
def test_bad_classes(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_an_equation_that_iteration_cannot_solve_says_so():
    # tanh f + atan f stays below 1 + pi/2; the tear is named.
    model = Model("impossible")
    model.e, model.x = Se("e"), own_class(lambda p: {p.effort: sp.tanh(p.flow) + sp.atan(p.flow)})()
    model.e >> model.x
    system = model.compile(outputs=["x.flow"])
    with pytest.raises(SolveError, match=r"x\.flow"):
        system.function(list(system.output_exprs.values()))([], [5.0], [], [])
