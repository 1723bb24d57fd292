"""From a recipe of words and numbers to a hybrid test: structure, actuator, controller, imperfections."""

import itertools
import math
from typing import Any

from bondloop import control, rigs, safety, signals, transfer
from bondloop.bondgraph import C, I, Model, One, Port, R, Se, Sf, Zero, bond
from bondloop.engine.system import system_from_matrices
from bondloop.hybrid import HybridTest, Switches
from bondloop.integrate import RK4, Exact, ForwardEuler, NewmarkAverage
from bondloop.structures import ShearBuilding, field_form, modal_form, modes

__all__ = ["build"]

INTEGRATORS = {"RK4": RK4, "Exact": Exact, "Newmark": NewmarkAverage, "Euler": ForwardEuler}


class Cell(Model):
    """A mass; from its left port a spring with a damper, or the mass's damper to ground."""

    def __init__(self, m: float, k: float, c: float, *, grounded: bool) -> None:
        self.left, self.right = Port(), Port()
        self.force, self.stretch, self.v = Zero(), One(), One()
        self.left >> self.force >> self.v >> self.right
        self.mass, self.spring, self.damper = I(mass=m), C(stiffness=k), R(damping=c)
        self.v >> self.mass
        self.force >> self.stretch >> self.spring
        (self.v if grounded else self.stretch) >> self.damper


class Loose(Model):
    """A mass with a damper to ground, and nothing to its left."""

    def __init__(self, m: float, c: float) -> None:
        self.right, self.v = Port(), One()
        self.v >> self.right
        self.mass, self.damper = I(mass=m), R(damping=c)
        self.v >> [self.mass, self.damper]


class Between(Model):
    """Spring and damper from its left port to ground, or to a mass; perhaps with a mass at the port."""

    def __init__(self, parts: list[Any], near: float = 0.0, far: float = 0.0) -> None:
        self.left, self.v = Port(), One()
        self.left >> self.v
        if near:
            self.near = I(mass=near)
            self.v >> self.near
        if not far:
            self.element = parts
            self.v >> parts
            return
        self.force, self.stretch, self.w = Zero(), One(), One()
        self.v >> self.force >> self.w
        self.element, self.far = parts, I(mass=far)
        self.force >> self.stretch >> parts
        self.w >> self.far


class _Numbers:
    """What follows from a recipe: stiffnesses, dampings, sizes of motions and forces."""

    def __init__(self, r: dict[str, Any]) -> None:
        omega = 2 * math.pi * r["frequency"]
        self.m, self.k = r["mass"], r["mass"] * omega**2
        self.c = 2 * r["damping"] * r["mass"] * omega
        self.omega = omega
        # A lag on a spring is a negative damper, -k lag: the margin is its size against the structure's own.
        stiffness = r["margin"] * r["compensated"] * self.c / r["lag"]
        self.ks = min(stiffness, 3.0 * self.k)
        self.ms = r["specimen mass"] * self.m
        if r["specimen"] == "spring and mass":
            self.ms = self.ks / (r["specimen frequency"] * omega) ** 2
        self.cs = 2 * r["specimen damping"] * self.ks / omega
        self.x = r["amplitude"]
        self.felt = {
            "mass": self.ms * omega**2, "dashpot": r["margin"] * self.c * omega,
        }.get(r["specimen"], self.ks)  # fmt: skip
        self.force = self.felt * self.x
        self.most = self.x * r["displacement limit"]


def build(r: dict[str, Any]) -> HybridTest:
    """Build the test of a recipe."""
    n = _Numbers(r)
    whole, cuts, inputs = _whole(r, n)
    numerical, physical = whole.cut(*cuts)
    count = r["interfaces"]
    period = 1.0 / r["rate"]
    actuator, fastest = _actuator(r, n)
    substeps = max(r["substeps"], math.ceil(period * fastest / 1.5))
    rig = rigs.Emulated(
        physical,
        actuator if count == 1 else [actuator] * count,
        sensors=_sensors(r, n),
        drive=_drive(r, n),
        latency=r["latency"],
        substeps=substeps,
        integrator=INTEGRATORS[r["rig integrator"]](),
        seed=r["seed"],
    )
    at = _signal(r, n)
    if at is None and r["tabled"]:
        at = signals.Constant(0.0)
    excitation = {} if at is None else dict.fromkeys(inputs, at)
    if r["tabled"]:
        excitation = {k: _tabled(s, r["seconds"], period) for k, s in excitation.items()}
    force = 2 * (n.felt + n.cs * n.omega) * n.most * r["force limit"]
    limits = safety.Limits(
        displacement=n.most,
        force=force,
        velocity=n.omega * n.most * r["velocity limit"] or None,
    )
    lock = None
    if r["interlock"]:
        lock = safety.Interlock(safety.Limits(displacement=0.9 * n.most, force=0.9 * force), retreat=0.5)
    switches = None
    if r["switches"]:
        steps = [signals.Step(1.0, at=share * r["seconds"]) for share in (0.1, 0.3)]
        switches = Switches(*(safety.RampedSwitch(s, ramp=0.1 * r["seconds"]) for s in steps))
    return HybridTest(
        numerical, rig=rig, controller=_controller(r, n, count), excitation=excitation, rate=r["rate"],
        integrator=INTEGRATORS[r["integrator"]](), limits=limits, switches=switches, interlock=lock,
        feedback=r["feedback"], name="drawn",
    )  # fmt: skip


# ---------------------------------------------------------------------- the structure


def _whole(r: dict[str, Any], n: _Numbers) -> tuple[Model, list[str], list[str]]:
    """Return the structure in one piece, where it is cut, and its inputs."""
    whole = Model("drawn")
    spread = r["spread"]
    if r["form"] != "chain":
        masses = [n.m * a for a, _ in spread]
        springs = [n.k * b for _, b in spread]
        building = ShearBuilding(masses, springs, rayleigh=(0.0, 2 * r["damping"] / n.omega))
        matrices = building.assemble()
        top = matrices.dofs[-1]
        push = {matrices.dofs[0]: "push"}
        if r["form"] == "building":
            whole.building = field_form(matrices, "building", forces=push)
        else:
            kept = modes(matrices, max(1, len(masses) - 1))
            whole.building = modal_form(kept, [matrices.dofs[0], top], "building", forces=push)
        whole.specimen = _specimen(r, n)
        bond(whole.building.junction(top), whole.specimen.left)
        return whole, [f"building.{top} >> specimen.left"], ["building.push"]
    cells: list[Model] = []
    for i, (a, b) in enumerate(spread):
        if i == 0 and r["support"] == "free":
            cells.append(Loose(n.m * a, n.c))
        else:
            cells.append(Cell(n.m * a, n.k * b, n.c, grounded=r["damper"] == "ground"))
    whole.cells = cells
    inputs = []
    if r["support"] == "wall":
        whole.wall = Sf("v_wall")
        whole.wall >> cells[0].left
        inputs.append("v_wall")
    else:
        whole.push = Se("push")
        whole.push >> cells[0].v
        inputs.append("push")
    if r["support"] == "ground":
        whole.ground = Sf(flow=0.0)
        whole.ground >> cells[0].left
    for one, other in itertools.pairwise(cells):
        one.right >> other.left
    last = len(cells) - 1
    if r["interfaces"] == 1:
        whole.specimen = _specimen(r, n)
        cells[-1].right >> whole.specimen.left
        return whole, [f"cells[{last}].right >> specimen.left"], inputs
    whole.specimen = [_specimen(r, n), _specimen({**r, "specimen": "spring"}, n)]
    whole.tap = Model()
    whole.tap.right, whole.tap.v = Port(), One()
    whole.tap.v >> whole.tap.right
    cells[0].v >> whole.tap.v
    cells[-1].right >> whole.specimen[0].left
    whole.tap.right >> whole.specimen[1].left
    return whole, [f"cells[{last}].right >> specimen[0].left", "tap.right >> specimen[1].left"], inputs


def _specimen(r: dict[str, Any], n: _Numbers) -> Model:
    kind, size = r["specimen"], r["strength"]
    near = 0.3 * n.ms if r["begins with a mass"] else 0.0
    spring, damper = C(stiffness=n.ks), R(damping=n.cs)
    if kind == "spring and mass":
        return Between([spring, damper], near, far=n.ms)
    if kind == "mass":
        return Between([R(damping=n.cs)], near=n.ms)
    # The width of dry friction is what the specimen moves at, so that one step can follow it.
    width = max(0.02 * n.omega * n.x, 1e-4)
    parts = {
        "spring": lambda: [spring, damper],
        "dashpot": lambda: [R(damping=r["margin"] * n.c)],
        "cubic": lambda: [rigs.cubic_spring(n.ks, size * n.ks / n.x**2), damper],
        "softening": lambda: [rigs.cubic_spring(n.ks, -0.3 * n.ks / n.most**2), damper],
        "bistable": lambda: [rigs.cubic_spring(-min(n.ks, 0.3 * n.k), size * n.ks / n.x**2), damper],
        "dead zone": lambda: [rigs.dead_zone_spring(n.ks, size * n.x), damper],
        "preloaded": lambda: [rigs.preloaded_spring(n.ks, size * n.force, width=n.x), damper],
        "coulomb": lambda: [spring, rigs.coulomb(0.3 * size * n.force, width)],
        "stribeck": lambda: [
            spring, rigs.stribeck(0.2 * size * n.force, 0.3 * size * n.force, 5 * width, n.cs, width),
        ],
    }  # fmt: skip
    return Between(parts[kind](), near)


# ---------------------------------------------------------------------- the rig


def _servo(r: dict[str, Any], n: _Numbers) -> tuple[float, float, float]:
    """Return mass, damper and spring of a second-order actuator with the lag that is wanted."""
    omega = 2 * r["actuator damping"] / r["lag"]
    k = r["actuator stiffness"] * max(n.felt, n.ks if r["specimen"] == "spring and mass" else 0.0)
    return k / omega**2, k * r["lag"], k


def _actuator(r: dict[str, Any], n: _Numbers) -> tuple[Any, float]:
    """Return the actuator, and about its fastest pole in rad/s."""
    kind, lag = r["actuator"], r["lag"]
    m, c, k = _servo(r, n)
    fastest = max(c / m, math.sqrt(k / m))
    if kind in ("position", "force"):
        return transfer.MassSpringDamper(m, c, k, drive=kind), fastest
    if kind == "second order":
        A, B = [[0.0, 1.0], [-k / m, -c / m]], [[0.0, 0.0], [k / m, -1 / m]]
        return _given(A, B, [[0.0, 1.0]], [[0.0, 0.0]]), fastest
    if kind == "first order":
        row = [1 / lag, -1 / (k * lag)]
        return _given([[-1 / lag]], [row], [[-1 / lag]], [row]), 2 / lag
    if kind.startswith("hydraulic"):
        decibel = 30.0 + 20 * math.log10(5.2e-3 / max(lag, 4e-3))
        gains = transfer.SerialPID(decibel, 0.2, 3.6e-3)
        return transfer.ServoHydraulic(gains, linear=kind.endswith("linear")), 6500.0
    loops = transfer.CascadedLoops(position_gain=min(max(1 / lag, 30.0), 150.0))
    options = {"winding": kind == "screw winding", "linear": kind == "screw linear"}
    place = "motor" if kind == "screw motor" else "carriage"
    return transfer.ElectroMechanical(loops, feedback=place, **options), 4500.0


def _given(A: Any, B: Any, C_: Any, D: Any) -> Any:
    return system_from_matrices(A, B, C_, D, inputs=["command", "load"], outputs=["velocity"], name="given")


def _sensors(r: dict[str, Any], n: _Numbers) -> dict[str, Any]:
    size, full, period = r["sensor size"], 4 * n.felt * n.most * max(1.0, r["force limit"]), 1 / r["rate"]
    parts: list[Any] = []
    for kind in r["sensors"]:
        parts += {
            "ideal": lambda: (),
            "noise": lambda: (rigs.WhiteNoise(0.01 * size * n.force),),
            "fine": lambda: (rigs.Quantisation(16, full),),
            "coarse": lambda: (rigs.Quantisation(8, full),),
            "load cell": lambda: rigs.LoadCell(full).imperfections,
            "low-pass": lambda: (rigs.LowPass(min(100.0 * size, 0.4 / period)),),
            "delay": lambda: (rigs.PureDelay(round(1 + size, 1) * period),),
            "saturation": lambda: (rigs.Saturation(2 * size * n.force),),
            "bias": lambda: (rigs.Bias(0.02 * size * n.force),),
            "gain": lambda: (rigs.GainError(0.03 * size),),
        }[kind]()
    found = {"force": rigs.Sensor(tuple(parts), "N")} if parts else {}
    if r["displacement sensor"] == "LVDT":
        found["displacement"] = rigs.LVDT(4 * n.most)
    return found


def _drive(r: dict[str, Any], n: _Numbers) -> tuple[Any, ...]:
    """Return the imperfections of the command, which is a force for an actuator driven by one."""
    unit = n.x * (_servo(r, n)[2] if r["actuator"] == "force" else 1.0) * r["drive size"]
    return {
        "ideal": (),
        "backlash": (rigs.Backlash(0.05 * unit),),
        "rate limit": (rigs.RateLimit(3 * n.omega * unit),),
        "saturation": (rigs.Saturation(3 * unit),),
    }[r["drive"]]


# ---------------------------------------------------------------------- the controller


def _controller(r: dict[str, Any], n: _Numbers, count: int) -> Any:
    kind, lag, delay, period = r["controller"], r["lag"], r["delay"], 1 / r["rate"]
    m, c, k = _servo(r, n)
    points = r["order"] + max(r["points"], 1)
    span = max(r["span"], 1.0) * (points - 1) * period
    expected = min(delay, 0.05)
    if kind in ("junction", "wrong junction", "adaptive junction"):
        a, b, d = (1.0, 1.0, 1.0) if kind == "junction" else r["model error"]
        sign = -1.0 if r["wrong sign"] and kind == "wrong junction" else 1.0
        drive = "force" if r["actuator"] == "force" else "position"
        models = [transfer.MassSpringDamper(a * m, sign * b * c, d * k, drive=drive) for _ in range(count)]
        model = models[0] if count == 1 else models
        if kind != "adaptive junction":
            return control.VirtualJunction(model)
        return control.AdaptiveVirtualJunction(
            model, ["damper.damping", "spring.stiffness"], noise=max(1e-3 * k * n.x, 1e-9)
        )
    error = r["model error"][0] * (4.0 if r["silly"] else 1.0)
    process = transfer.first_order(1.0, lag * error)
    if r["order"] > 2:
        process = transfer.second_order(1.0, math.sqrt(k / m) / (2 * math.pi) / error, r["actuator damping"])
    return {
        "direct": control.Direct,
        "polynomial": lambda: control.PolynomialPrediction(delay, r["order"], span, points),
        "lead": lambda: control.LeadCompensation(delay, r["ratio"]),
        "inverse": lambda: control.InverseModel(process),
        "sliding mode": lambda: control.SlidingMode(
            process, min(0.3 * r["ratio"] / lag, 0.5 * r["rate"]) / (2 * math.pi), r["gain"] * n.omega * n.x
        ),
        "mcs": lambda: _synthesis(r, n.x, k),
        "adaptive prediction": lambda: control.AdaptivePrediction(
            expected, r["order"], span, points, threshold=0.03 * n.x
        ),
        "adaptive time series": lambda: control.AdaptiveTimeSeries(
            expected, min(r["order"], 3), threshold=0.03 * n.x
        ),
        "adaptive model based": lambda: control.AdaptiveModelBased(
            expected, min(r["order"], 3), threshold=0.03 * n.x
        ),
    }[kind]()  # fmt: skip


def _synthesis(r: dict[str, Any], x: float, k: float) -> control.MCS:
    """Return an MCS controller whose gains come to 1 in 10 ms to 30 s where the motion is `x`."""
    order = 1 if r["order"] < 3 else 2
    weight = control.MCS(settling_time=r["settling"], order=order).error_weights()[0]
    rate = 10 * r["gain"] * (k if r["actuator"] == "force" else 1.0)
    alpha = rate / (weight * x**2)
    return control.MCS(alpha, 0.1 * alpha, r["settling"], order=order)


# ---------------------------------------------------------------------- the excitation


def _signal(r: dict[str, Any], n: _Numbers) -> Any:
    """Return a velocity of the wall, or a force that would bend the first spring by the amplitude."""
    kind, T, f = r["excitation"], r["seconds"], r["relative frequency"] * r["frequency"]
    wall = r["support"] == "wall"
    if kind == "none":
        return None
    if kind in ("pulse", "step"):
        width = 0.1 / max(f, 0.5)
        if wall:  # a step of the wall is a pulse of its velocity
            there = signals.Pulse(n.x / width, 0.1 * T, width)
            back = signals.Pulse(-n.x / width, 0.1 * T + 2 * width, width)
            return there if kind == "step" else there + back
        push, start = n.k * n.x, 0.1 * T
        return signals.Pulse(push, start, width) if kind == "pulse" else signals.Step(push, start)
    if kind == "earthquake":
        quake = signals.Earthquake(n.omega**2 * n.x, T, step=min(0.01, 5 / r["rate"]), seed=r["seed"])
        return quake.velocity() if wall else quake * (-n.m)
    motion = {
        "sine": lambda: signals.Sine(n.x, f),
        "sweep": lambda: signals.Sweep(n.x, 0.3 * f, 3 * f, T),
        "chirp": lambda: signals.Chirp(n.x, 0.3 * f, 3 * f, T),
        "noise": lambda: signals.Noise(0.5 * n.x, 0.3 * f, 3 * f, max(T, 20 / f), seed=r["seed"]),
    }[kind]()
    return motion.derivative() if wall else motion * n.k


def _tabled(signal: Any, seconds: float, period: float) -> Any:
    """Return a signal as a table over the run, zero after it: an input of the tick, not part of its code."""
    import numpy as np

    times = np.arange(round(seconds / period) + 3) * period
    return signals.Table(times, signal.sampled(times), beyond="zero")
