"""Energies of tests: the balance closes to the error of the integration, in drawn structures of any kind."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import bondloop as bl
from bondloop import files
from bondloop.bondgraph import C, I, Model, One, Port, R, bond
from bondloop.cli.main import app
from bondloop.devices import Bilinear, FrictionPendulum, Hook, TripleFrictionPendulum
from bondloop.engine.codegen.toolchain import compiler
from bondloop.errors import InputError
from bondloop.files import load_text
from bondloop.hybrid import HybridTest, PseudoDynamicTest, Simulation
from bondloop.hybrid.coupling import Extrapolation, Switches
from bondloop.integrate import RK4, NewmarkAverage
from bondloop.integrate.structural import AlphaOS, NewmarkImplicit
from bondloop.rehearsal import Run
from bondloop.rigs import RampHold, Specimen
from bondloop.safety import RampedSwitch
from bondloop.signals import HalfSine, Sine, Step
from bondloop.structures import (
    Frame2D,
    Matrices,
    PointMass,
    Readings,
    ShearBuilding,
    Structure,
    attach,
    craig_bampton,
    field_form,
    network_form,
)

BALANCE = ("input", "kinetic", "strain", "damping", "specimen")


def frame(storeys=2, mass=8e3, alpha=0.4, beta=2e-4):
    s = Structure("frame")
    for k in range(storeys + 1):
        for side, x in (("a", 0.0), ("b", 5.0)):
            s.node(f"{side}{k}", x=x, y=3.0 * k)
    section = {"E": 210e9, "A": 8e-3, "I": 6e-5, "rho": 7850.0}
    for k in range(1, storeys + 1):
        for side in "ab":
            s.add(Frame2D(f"{side}{k - 1}", f"{side}{k}", **section), f"column_{side}[{k}]")
            s.add(PointMass(f"{side}{k}", m=mass, Jz=mass / 10))
        s.add(Frame2D(f"a{k}", f"b{k}", **section), f"girder[{k}]")
    s.support("a0")
    s.support("b0")
    s.rayleigh(alpha, beta)
    s.storeys(*(f"a{k}" for k in range(storeys + 1)))
    return s


def closes(run, prefix="", share=1e-9):
    e = {word: run[f"{prefix}energy.{word}"] for word in BALANCE}
    rest = e["input"] - e["specimen"] - e["damping"] - e["kinetic"] - e["strain"]
    most = max(np.abs(x).max() for x in e.values())
    assert most > 0
    rest = rest - rest[0]
    np.testing.assert_allclose(run[f"{prefix}energy.error"], rest, atol=1e-10 * most)
    assert np.abs(rest).max() < share * most, (np.abs(rest).max(), most)
    assert np.all(np.diff(e["damping"]) > -1e-9 * most)  # what is lost stays lost
    return np.abs(rest).max() / most


draws = st.tuples(
    st.integers(1, 3), st.floats(1e3, 3e4), st.floats(0.0, 1.0), st.floats(0.0, 1e-3), st.floats(0.5, 6.0)
)


@settings(max_examples=8, deadline=None)
@given(draws, st.floats(1e5, 5e6), st.sampled_from([0.005, 0.02]))
def test_pseudo_dynamic_tests_with_average_acceleration_close_to_rounding(draw, stiffness, step):
    *values, frequency = draw
    m = frame(*values).assemble()
    top = f"b{values[0]}.ux"
    k = np.zeros((len(m), len(m)))
    k[m.index(top), m.index(top)] = stiffness
    spring = Matrices([[0.0]], None, [[stiffness]], ("x",))
    test = PseudoDynamicTest(
        m, scheme=NewmarkImplicit(specimen_stiffness=k), rig=RampHold(Specimen.from_matrices(spring, "x")),
        interface=top, excitation={"wind": (Sine(1e4, frequency), {"a1.ux": 1.0, top: -0.4})},
        time_step=step, record="energy.*",
    )  # fmt: skip
    run = test.run(100 * step, backend="numpy")
    closes(run, share=1e-8)
    x = run["desired.displacement"]
    taken = run["energy.specimen"]
    np.testing.assert_allclose(taken, 0.5 * stiffness * x**2, atol=1e-6 * taken.max())
    assert np.abs(run["energy.hysteretic"]).max() < 1e-6 * taken.max()  # an elastic specimen gives all back


def test_a_scheme_that_damps_is_seen_in_the_error():
    m = frame().assemble()
    spring = Matrices([[0.0]], None, [[1e6]], ("x",))
    k = np.diag([1e6 if d == "b2.ux" else 0.0 for d in m.dofs])
    test = PseudoDynamicTest(
        m, scheme=AlphaOS(alpha=-0.3, specimen_stiffness=k), interface="b2.ux",
        rig=RampHold(Specimen.from_matrices(spring, "x")), time_step=0.02,
        excitation={"push": (HalfSine(1e5, width=0.05), {"a2.ux": 1.0})}, record=["energy.*"],
    )  # fmt: skip
    run = test.run(2.0, backend="numpy")
    error, came = run["energy.error"], run["energy.input"].max()
    assert error[-1] > 0.005 * came  # numerical damping takes energy that nothing physical took
    assert error[-1] < came


@settings(max_examples=4, deadline=None)
@given(draws, st.sampled_from([field_form, network_form]))
def test_simulated_frames_close_to_the_error_of_the_scheme(draw, form):
    *values, frequency = draw
    model = form(frame(*values).assemble(), "frame", forces={"a1.ux": "wind"})
    fastest = np.abs(np.linalg.eigvals(model.compile().numeric().explicit().A.toarray())).max()
    rate = float(8 * fastest)
    test = Simulation({"f": model}, excitation={"wind": Sine(1e4, frequency)}, rate=rate, record="f.energy.*")
    run = test.run(1500 / rate, backend="auto" if compiler() else "numpy")
    closes(run, "f.", share=3e-3)


def test_the_error_falls_with_the_step_as_the_scheme_does():
    model = field_form(frame(1).assemble(), "frame", forces={"a1.ux": "wind"})
    errors = []
    for rate in (4000.0, 8000.0):
        run = Simulation(
            {"f": model},
            excitation={"wind": Sine(1e4, 2.0)},
            rate=rate,
            record="f.energy.*",
            integrator=RK4(),
        ).run(0.2, backend="auto" if compiler() else "numpy")
        errors.append(closes(run, "f.", share=1e-3))
    assert errors[1] < errors[0] / 6  # of third order at least: the sum begins with trapezia


def hybrid(record, coupling="continuous", model=None, stiffness=4e5, damping=2e4, **options):
    whole = Model("whole")
    whole.frame = model or field_form(frame().assemble(), "frame", forces={"a1.ux": "wind"})
    whole.damper = Model("damper")
    whole.damper.base, whole.damper.v = Port(), One()
    _ = whole.damper.base >> whole.damper.v >> [C(stiffness=stiffness), R(damping=damping)]
    bond(whole.frame.b2.ux, whole.damper.base)
    numerical, physical = whole.cut("frame.b2.ux >> damper.base")
    actuator = bl.transfer.MassSpringDamper(m=10, c=4e4, k=4e7, drive="position")
    return HybridTest(
        numerical, rig=bl.rigs.Emulated(physical, actuator),
        controller=bl.control.Direct(), excitation={"frame.wind": Sine("20 kN", "1.5 Hz")}, rate=5000,
        coupling=coupling, record=record, **options,
    )  # fmt: skip


def test_a_hybrid_test_closes_where_nothing_is_sampled():
    run = hybrid(["energy.*"]).run(1.0)
    closes(run, share=1e-6)
    force, x = run["force"], run["desired.displacement"]
    np.testing.assert_allclose(
        run["energy.specimen"], bl.results.work(force, x), atol=2e-4 * run["energy.specimen"].max()
    )


def test_a_force_that_is_held_puts_energy_in():
    """A force held over a sample is late by half of it: ½ T ∫ Ḟ v dt comes in that no source supplied."""
    test = hybrid(["energy.*"], coupling="sampled")
    run = test.run(1.0)
    force, v = run["measured.force"], run["desired.velocity"]
    put_in = 0.5 * np.concatenate(([0.0], np.cumsum(np.diff(force) * (v[1:] + v[:-1]) / 2))) * test.period
    error = -run["energy.error"]
    np.testing.assert_allclose(error, put_in, atol=0.05 * np.abs(put_in).max())


@pytest.mark.parametrize(
    ("stiffness", "damping"), np.random.default_rng(3).uniform((1e6, 5e3), (8e6, 2e4), (2, 2))
)
def test_a_late_rig_takes_from_what_the_numerical_half_feels(stiffness, damping):
    """The specimen's own energy, ½ k x² + c ∫ v² dt, is the force's work on the actual motion."""
    names = ["energy.*", "rig.specimen.damper.v.flow"]
    test = hybrid(names, "sampled", stiffness=float(stiffness), damping=float(damping))
    run = test.run(1.0)
    force, desired, actual = (run[n] for n in ("force", "desired.displacement", "actual.displacement"))
    lost = damping * np.trapezoid(run["rig.specimen.damper.v.flow"] ** 2, dx=test.period)
    own = 0.5 * stiffness * actual[-1] ** 2 + lost
    felt = run["energy.specimen"][-1]
    assert bl.results.work(force, actual)[-1] == pytest.approx(own, rel=0.03)
    assert felt == pytest.approx(bl.results.work(force, desired)[-1], abs=1e-4 * own)
    assert felt < 0.9 * own  # the rig, without compensation, is late


def test_extrapolated_forces_put_in_less_and_switched_ones_count_as_felt():
    held, carried = (
        hybrid(["energy.*"], coupling="sampled", extrapolation=e).run(1.0) for e in (None, Extrapolation())
    )
    assert np.abs(carried["energy.error"]).max() < 0.01 * np.abs(held["energy.error"]).max()
    closed = RampedSwitch(Step(1.0, at=0.3), ramp=0.1)
    run = hybrid(["energy.*"], coupling="sampled", switches=Switches(force=closed)).run(1.0)
    assert np.abs(run["energy.error"]).max() < 2 * np.abs(held["energy.error"]).max()
    assert np.all(run["energy.specimen"][run.time < 0.3] == 0)  # nothing was fed back


def test_many_degrees_of_freedom_and_both_backends():
    s = frame(7)
    m = s.assemble()
    assert len(m) > 40
    record = [
        "numerical.storey[*].drift_ratio_x",
        "numerical.girder[*].start.M",
        "energy.*",
        "numerical.a7.ux.*",
    ]
    spring = Matrices([[0.0]], None, [[1e6]], ("x",))
    k = np.diag([1e6 if d == "b7.ux" else 0.0 for d in m.dofs])
    test = PseudoDynamicTest(
        m, scheme=NewmarkImplicit(specimen_stiffness=k), rig=RampHold(Specimen.from_matrices(spring, "x")),
        interface="b7.ux", excitation={"wind": (Sine(1e4, 1.0), {"a7.ux": 1.0})}, time_step=0.01,
        record=record,
    )  # fmt: skip
    slow = test.run(0.3, backend="numpy")
    closes(slow, share=1e-8)
    assert sum(n.endswith(".drift_ratio_x") for n in slow.record) == 7
    assert slow.record.meanings["numerical.girder[3].start.M"].quantity == "bending moment"
    assert slow.record.units["numerical.girder[3].start.M"] == "N m"
    if compiler() is not None:
        fast = test.run(0.3, backend="c")
        for name in slow.record:
            np.testing.assert_allclose(
                fast[name], slow[name], rtol=1e-9, atol=1e-9 * np.abs(slow[name]).max()
            )


def test_readings_of_a_reduced_structure_in_a_hybrid_test():
    m = frame().assemble()
    small = craig_bampton(m, ["b2.ux", "a1.ux"], 8)
    reduced = field_form(small.matrices, "frame", forces={"a1.ux": "wind"})
    names = [
        "numerical.frame.girder[2].end.M",
        "numerical.frame.a0.ux.reaction",
        "numerical.frame.storey[2].drift_x",
    ]
    few, full = hybrid(names, model=reduced).run(0.5), hybrid(names).run(0.5)
    for name in names:
        assert np.abs(few[name] - full[name]).max() < 0.02 * np.abs(full[name]).max()


def test_a_base_that_nothing_holds_has_no_shear(tmp_path):
    """Its feet stand on a bearing: the error says so, in Python and on the command line."""
    s = frame()
    s.supports = dict.fromkeys(s.supports, ("uy", "rz"))
    free = s.assemble(free=True)
    name = "numerical.frame.base.shear_x"
    test = hybrid([name], model=field_form(free, "frame", forces={"a1.ux": "wind"}))
    with pytest.raises(InputError, match=f"cannot record '{name}': no support of the structure holds ux"):
        test.run(0.1)
    with pytest.raises(InputError, match="no support"):
        _ = Readings(free)["base.shear_x"]
    assert "base.shear_y" in Readings(free)
    (tmp_path / "isolated.toml").write_text(files.to_toml(test), encoding="utf-8")
    told = CliRunner().invoke(app, ["run", str(tmp_path / "isolated.toml"), "--out", str(tmp_path)])
    assert told.exit_code == 1
    assert "holds ux" in " ".join(told.output.split())
    assert "Traceback" not in told.output


def test_the_run_file_knows_the_structure(tmp_path):
    test = hybrid(["numerical.frame.*.displacement", "energy.*", "numerical.frame.storey[*].drift_ratio_x"])
    test.run(0.4, every=5).save(tmp_path / "run.h5")
    run = Run.load(tmp_path / "run.h5")
    assert list(run.structures) == ["numerical.frame."]
    figures = [run.plot.drifts(), run.plot.energies(), run.plot.hysteresis(), run.plot.forces("V")]
    assert [len(f.axes) for f in figures] == [1, 2, 1, 1]
    assert run.animate(tmp_path / "film.html", fps=10).stat().st_size > 2000
    assert "http" not in (tmp_path / "film.html").read_text()
    again = CliRunner().invoke(app, ["run", str(tmp_path / "run.h5"), "--out", str(tmp_path / "out")])
    assert again.exit_code == 0, again.output
    assert {"drifts.png", "energies.png", "overview.png"} <= {f.name for f in (tmp_path / "out").iterdir()}
    assert load_text(files.to_toml(test)).test == test


def test_a_film_without_ffmpeg(tmp_path, monkeypatch):
    import matplotlib.animation

    monkeypatch.setattr(matplotlib.animation.FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    run = hybrid(["numerical.frame.*.displacement"]).run(0.02)
    with pytest.raises(InputError, match=r"film.mp4: MP4 needs the program ffmpeg.*\.html"):
        run.animate(tmp_path / "film.mp4")
    with pytest.raises(InputError, match="pictures would be needed"):
        run.animate(tmp_path / "film.html", speed=1e-5)


def test_what_is_not_known_is_refused():
    with pytest.raises(InputError, match="elastic stiffness of the specimen"):
        hybrid(["energy.hysteretic"]).run(0.01)
    with pytest.raises(InputError, match=r"cannot record 'numerical.frame.girdle"):
        hybrid(["numerical.frame.girdle*"]).run(0.01)
    with pytest.raises(InputError, match=r"storey\[1\].drift_x"):
        hybrid(["numerical.frame.storey[1].drift"]).run(0.01)
    plain = Model("plain")
    plain.mass, plain.v = I(mass=1.0), One()
    _ = plain.v >> plain.mass
    with pytest.raises(InputError, match="no structure made of matrices"):
        Simulation({"p": plain}, excitation={}, rate=100, record="p.energy.kinetic").run(0.1)
    with pytest.raises(InputError, match="record its motion"):
        hybrid([]).run(0.01).animate("film.html")
    short = hybrid(["numerical.frame.a1.ux.displacement", "numerical.frame.a2.*"]).run(0.01)
    with pytest.raises(InputError, match=r"record 'numerical.frame.\*.displacement'"):
        short.animate("film.html")


def yielding(law, form=field_form):
    model = form(frame(2, beta=1e-3).assemble(), "frame", forces={"a2.ux": "wind"})
    for name, way in {"low": {"a1.ux": 1.0}, "high": {"a2.ux": 1.0, "a1.ux": -1.0}}.items():
        attach(model, name, law, way)
    return model


@settings(max_examples=6, deadline=None)
@given(
    st.floats(2e3, 2e4),
    st.floats(0.0, 0.3),
    st.floats(0.5, 3.0),
    st.sampled_from([RK4(), NewmarkAverage(iterations=8)]),
)
def test_what_devices_take_closes_the_balance(force, hardening, frequency, scheme):
    """Input = kinetic + strain + damping + devices, and what yielding took is not given back."""
    law = Bilinear(2e6, force, hardening)
    test = Simulation(
        {"f": yielding(law)}, excitation={"wind": Sine(2.5e4, frequency)}, rate=4000, integrator=scheme,
        record=["f.energy.*", "f.low.effort", "f.low.displacement", "f.high.effort", "f.high.displacement"],
    )  # fmt: skip
    run = test.run(2.0, backend="auto" if compiler() else "numpy")
    e = {word: run[f"f.energy.{word}"] for word in (*BALANCE, "devices", "hysteretic", "error")}
    most = e["input"].max()
    rest = e["input"] - e["kinetic"] - e["strain"] - e["damping"] - e["devices"] - e["specimen"]
    np.testing.assert_allclose(e["error"], rest - rest[0], atol=1e-9 * most)
    assert np.abs(e["error"]).max() < 1e-4 * most
    taken = sum(bl.results.work(run[f"f.{n}.effort"], run[f"f.{n}.displacement"]) for n in ("low", "high"))
    np.testing.assert_allclose(e["devices"], taken, atol=1e-3 * most)
    elastic = sum(run[f"f.{n}.effort"] ** 2 for n in ("low", "high")) / (2 * law.stiffness)
    np.testing.assert_allclose(e["hysteretic"], e["devices"] - elastic, atol=1e-9 * most)
    if hardening == 0:
        assert np.diff(e["hysteretic"]).min() > -1e-4 * most


def test_devices_without_a_stiffness_at_rest_have_no_hysteretic_energy():
    model = yielding(Hook(2e6, 1e-3, 1e4))
    with pytest.raises(InputError, match=r"has no stiffness at rest; record energy\.devices"):
        Simulation({"f": model}, rate=1000, record=["f.energy.hysteretic"], excitation={"wind": 1.0}).run(
            0.01
        )
    run = Simulation({"f": model}, rate=4000, record=["f.energy.*"], excitation={"wind": Sine(3e4, 2.0)}).run(
        1.0, backend="auto" if compiler() else "numpy"
    )
    assert "f.energy.hysteretic" not in run.record.channels
    assert np.abs(run["f.energy.error"]).max() < 1e-4 * run["f.energy.input"].max()


def on_bearing(law):
    model = Model("whole")
    model.house = field_form(
        ShearBuilding(masses=[1e5], stiffnesses=[1.0]).assemble(), "house", forces={"floor[1].ux": "push"}
    )
    attach(model.house, "bearing", law, {"floor[1].ux": 1.0})
    return model


def test_the_weight_that_a_pendulum_lifts_is_not_lost():
    weight, radius, mu, stick = 1e6, 2.0, 0.05, 5e-4
    law = FrictionPendulum(weight, radius, mu, mu, stick_displacement=stick)
    bearing = "f.house.bearing"
    run = Simulation(
        {"f": on_bearing(law)}, rate=1000, excitation={"house.push": Sine(1.5e5, 0.3)},
        record=["f.energy.*", f"{bearing}.displacement", f"{bearing}.effort"],
    ).run(5.0, backend="auto" if compiler() else "numpy")  # fmt: skip
    x, force, lost = run[f"{bearing}.displacement"], run[f"{bearing}.effort"], run["f.energy.hysteretic"]
    friction = force - weight / radius * x
    # Friction times the way that it slid: what is left of x without the elastic part.
    rubbed = bl.results.work(friction, x - friction * stick / (mu * weight))
    assert weight / radius * x.max() ** 2 / 2 > 0.2 * rubbed[-1]  # the weight was lifted
    np.testing.assert_allclose(lost, rubbed, atol=2e-3 * rubbed[-1])
    assert np.diff(lost).min() > -1e-4 * rubbed[-1]


def test_what_a_triple_pendulum_gives_back_is_not_known():
    test = Simulation(
        {"f": on_bearing(TripleFrictionPendulum())}, rate=1000, excitation={"house.push": 1.0},
        record=["f.energy.hysteretic"],
    )  # fmt: skip
    with pytest.raises(InputError, match=r"several pendulums; record energy\.devices"):
        test.run(0.01)
