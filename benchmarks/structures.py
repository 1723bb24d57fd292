"""How fast structures are assembled, solved, reduced and stepped. Prints tables in Markdown.

Run: python benchmarks/structures.py (--opensees PYTHON names a Python that has OpenSeesPy)
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bondloop.engine.codegen import Runner
from bondloop.engine.ir.expr import Const, Expr, Var, function, substitute
from bondloop.engine.ir.tick import Channel, Tick
from bondloop.hybrid.simulation import Simulation
from bondloop.integrate import Modal, NewmarkAverage
from bondloop.signals import Sine
from bondloop.structures import (
    Beam,
    Frame3D,
    Matrices,
    Modes,
    Structure,
    craig_bampton,
    field_form,
    modal_system,
    modes,
    network_form,
    time_history,
)

SECTION = {"E": 210e9, "A": 1e-3, "I": 1e-7, "rho": 7850.0}
COLUMN = {"E": 30e9, "G": 12.5e9, "A": 0.16, "Iy": 2.1e-3, "Iz": 2.1e-3, "J": 3.6e-3, "rho": 2500.0}
EXACT = (3.51601527, 22.03449156, 61.69721441)
MODES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
RATES = (1, 10, 50)
SHARE = 0.5
"""Part of the period that the model may take; the rest is for input, output, controller and delays."""


def best(job: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    """Return the shortest wall time of several runs, and the last result."""
    shortest, result = float("inf"), None
    for _ in range(times):
        began = time.perf_counter()
        result = job()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, result


def cantilever(elements: int, length: float = 1.0) -> Structure:
    """Return a cantilever along x."""
    s = Structure("cantilever")
    s.node("root")
    s.node("tip", x=length)
    s.line("root", "tip", n=elements, element=Beam("root", "tip", **SECTION))
    s.support("root")
    return s


def building(storeys: int = 10, across: int = 10, deep: int = 5) -> Structure:
    """Return a 3D frame building; 10 x 50 free nodes have 3,000 degrees of freedom."""
    s = Structure("building")
    for k in range(storeys + 1):
        for i in range(across):
            for j in range(deep):
                s.node(f"n{k}_{i}_{j}", x=6.0 * i, y=5.0 * j, z=3.2 * k)
    for k in range(1, storeys + 1):
        for i in range(across):
            for j in range(deep):
                here = f"n{k}_{i}_{j}"
                s.add(Frame3D(f"n{k - 1}_{i}_{j}", here, **COLUMN))
                if i:
                    s.add(Frame3D(f"n{k}_{i - 1}_{j}", here, **COLUMN))
                if j:
                    s.add(Frame3D(f"n{k}_{i}_{j - 1}", here, **COLUMN))
    for i in range(across):
        for j in range(deep):
            s.support(f"n0_{i}_{j}")
    s.rayleigh_from(0.02, 1.0, 0.02, 6.0)
    return s


def large_models() -> None:
    """Print assembly, modes and reduction of the two large models."""
    print("### Large models\n\n| what | goal | measured |\n|---|---:|---:|")
    build, s = best(lambda: cantilever(1000), 1)
    wall, model = best(lambda: _again(s), 3)
    solve, found = best(lambda: modes(model, 3))
    scale = np.sqrt(SECTION["rho"] * SECTION["A"] / (SECTION["E"] * SECTION["I"]))
    print(f"| 1,000-element cantilever described, assembled, supported | | {build + wall:.2f} s |")
    print(f"| its three lowest modes | | {solve:.2f} s |")
    for omega, exact in zip(found.omega * scale, EXACT, strict=True):
        print(f"| normalised omega | {exact:.6g} | {omega:.6g} |")
    b = building()
    wall, model = best(lambda: _again(b), 2)
    print(f"| 3D frame building of {len(model):,} degrees of freedom assembled | | {wall:.2f} s |")
    wall, _ = best(lambda: modes(model, 10), 2)
    print(f"| its ten lowest modes | 2 s | {wall:.2f} s |")
    roof = [f"n10_0_0.{d}" for d in ("ux", "uy", "uz")]
    wall, small = best(lambda: craig_bampton(model, roof, 20), 2)
    print(f"| Craig-Bampton, 3 interface degrees of freedom and 20 modes | 5 s | {wall:.2f} s |")
    top = 0.8 * small.modes(20).frequencies[-1]
    print(f"\n{small.error((0.1, top), roof[:1], roof[:1], points=25)}; damping 2 %.\n")


def _again(s: Structure) -> Matrices:
    s._cache.clear()
    return s.assemble()


def compile_cantilever(elements: int = 1000) -> None:
    """Print the time from the first node to sparse E, A and B, in both bond-graph forms."""
    print(f"### A {elements:,}-element cantilever to sparse E, A, B\n")
    print("| form | states | goal | described | as a bond graph | compiled | E, A, B | together |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, form, goal in (("field", field_form, "1 s"), ("network", network_form, "")):
        described, model = best(lambda: cantilever(elements).assemble())
        drawn, graph = best(lambda f=form, m=model: f(m, forces=["tip.uy"]))  # type: ignore[misc]
        compiled, system = best(lambda g=graph: g.compile(outputs=["tip.uy.flow"]))  # type: ignore[misc]
        numbers, space = best(system.numeric)
        parts = (described, drawn, compiled, numbers, described + drawn + compiled + numbers)
        times = " | ".join(f"{t:.2f} s" for t in parts)
        print(f"| {name} | {len(space.states):,} | {goal} | {times} |")
    print()


def modal_tick(count: int, h: float = 1e-3) -> Tick:
    """Return a tick of a model with so many modes: one force in, displacement and velocity out."""
    rng = np.random.default_rng(count)
    shapes = rng.standard_normal((2, count)) / np.sqrt(count)
    omega = np.linspace(5.0, 2e3, count)
    made = Modes(omega, shapes, ("tip.uy", "mid.uy"), 0.02 * omega, 0.0, shapes)
    system = modal_system(made, ["tip.uy"], ["tip.uy", "d/dt tip.uy"])
    t, k = Var("t"), Var("k")

    def inputs(fraction: float) -> dict[Var, Expr]:
        return {system.input_vars[0]: function("sin", 30.0 * (t + Const(fraction * h)))}

    step = Modal(hold="first").discretise(system, h, inputs, list(system.output_exprs.values()))
    channels = tuple(Channel(n, substitute(e, step.table)) for n, e in system.output_exprs.items())
    states = dict.fromkeys(system.state_vars, 0.0)
    return Tick("modal", h, t, k, (), states, {}, (*step.first, *step.rest), channels)


def in_the_loop() -> None:
    """Print the cost of a step against the number of modes."""
    print("### A modal model in the loop\n\n| modes | states | one step | per mode |\n|---:|---:|---:|---:|")
    costs = []
    for count in MODES:
        runner = Runner(modal_tick(count), "c")
        steps = max(2000, 2_000_000 // count)
        runner.run(steps, every=steps)
        wall, _ = best(lambda r=runner, n=steps: r.run(n, every=n), 9)  # type: ignore[misc]
        costs.append(wall / steps)
        print(f"| {count:,} | {2 * count:,} | {1e9 * costs[-1]:,.0f} ns | {1e9 * costs[-1] / count:.2f} ns |")
    slope, fixed = np.polyfit(MODES, costs, 1, w=1 / np.array(costs))
    growth = np.polyfit(np.log(MODES[3:7]), np.log(costs[3:7]), 1)[0]
    print(f"\nA step costs {1e9 * fixed:.0f} ns and {1e9 * slope:.2f} ns for every mode;", end=" ")
    print(f"from 100 to 1,000 modes the cost grows with n^{growth:.2f}.\n")
    print(f"| rate | modes that fit into {100 * SHARE:.0f} % of the period |\n|---:|---:|")
    for rate in RATES:
        fits = float(np.interp(SHARE * 1e-3 / rate, costs, MODES))
        more = "more than " if fits >= MODES[-1] else ""
        print(f"| {rate} kHz | {more}{int(float(f'{fits:.2g}')):,} |")
    print()


def beside_opensees(python: str) -> None:
    """Print the transient of a 100-element cantilever in both."""
    h, steps, n = 1e-3, 5000, 100
    model = cantilever(n, 2.0).assemble()
    force = {"tip.uy": 1000 * np.sin(30 * h * np.arange(steps + 1))}
    wall, ours = best(lambda: time_history(model, force, h, outputs=["tip.uy"]))
    basis = modes(model, 20)
    modal_wall, modal_run = best(
        lambda: time_history(model, force, h, outputs=["tip.uy"], method="modal", by_modes=basis)
    )
    print("### A 100-element cantilever in time: Newmark, 1 ms, 5,000 steps\n")
    print("| program | one step | largest difference at the tip |\n|---|---:|---:|")
    print(f"| bondloop, Newmark | {1e6 * wall / steps:.1f} us | |")
    peak = np.abs(ours["tip.uy"]).max()
    off = np.abs(modal_run["tip.uy"] - ours["tip.uy"]).max() / peak
    print(f"| bondloop, exact, 20 modes | {1e6 * modal_wall / steps:.1f} us | {off:.1e} of the peak |")
    given = {"elements": n, "length": 2.0, **SECTION, "h": h, "steps": steps}
    script = Path(__file__).with_name("opensees_cantilever.py")
    command = [python, str(script), json.dumps(given)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(3)]
    if any(run.returncode for run in runs):
        print("| OpenSeesPy | - | - |\n\nOpenSeesPy is not installed: pip install openseespy.")
        return
    theirs = min((json.loads(run.stdout) for run in runs), key=lambda result: result["seconds_per_step"])
    off = np.abs(np.array(theirs["tip"]) - ours["tip.uy"]).max() / peak
    step = f"{1e6 * theirs['seconds_per_step']:.1f} us"
    print(f"| OpenSeesPy (OpenSees {theirs['version']}) | {step} | {off:.1e} of the peak |")


COUPLED = (200, 1000, 2000, 5000)
BUILDINGS = ((10, 10, 5), (17, 10, 10))
PERIOD = 0.01
FORCES = 1e5 * np.sin(4.0 * PERIOD * np.arange(101))


def cpu() -> tuple[float, float]:
    """Return the CPU seconds of this process and of those that it has waited for."""
    t = os.times()
    return t.user + t.system, t.children_user + t.children_system


def coupled(states: int) -> dict[str, float]:
    """Measure a structure of so many states, coupled by mass and stiffness, from equations to a tick in C."""
    model = field_form(cantilever(states // 4, 0.005 * states).assemble(), forces=["tip.uy"])
    times = [cpu()]
    system = model.compile(outputs=["tip.uy.flow"])
    times.append(cpu())
    tick = Simulation({"beam": system}, excitation={"F_tip_uy": 1.0}, rate=1e7).tick
    times.append(cpu())
    runner = Runner(tick, "c")
    times.append(cpu())
    parts = {
        name: b[0] - a[0] for name, a, b in zip(("equations", "tick", "text"), times, times[1:], strict=False)
    }
    runner.run(20)
    began = time.process_time()
    runner.run(200)
    return {**parts, "compiler": times[-1][1] - times[-2][1], "step": (time.process_time() - began) / 200}


def implicit(size: tuple[int, int, int]) -> dict[str, Any]:
    """Measure a building stepped by Newmark's scheme as a tick in C, under a force at its roof."""
    model = building(*size).assemble()
    roof = f"n{size[0]}_{size[1] - 1}_{size[2] - 1}.ux"
    system = field_form(model, forces=[roof]).compile(outputs=[f"{roof}.flow"])
    began = cpu()
    forces = {system.inputs[0]: Sine(1e5, 4.0 / (2 * np.pi))}
    tick = Simulation({"b": system}, excitation=forces, rate=1 / PERIOD, integrator=NewmarkAverage()).tick
    runner = Runner(tick, "c")
    ended = cpu()
    record = runner.run(len(FORCES)).channels
    steps = []
    for _ in range(5):
        first = time.process_time()
        runner.run(20)
        steps.append((time.process_time() - first) / 20)
    build = ended[0] - began[0], ended[1] - began[1]
    speed = next(values for name, values in record.items() if name.endswith(".flow"))
    return {"dofs": len(model), "build": build, "step": min(steps), "speed": speed.tolist()}


def memory(size: tuple[int, int, int]) -> dict[str, float]:
    """Measure the memory of a model, its assembly and a history: the largest, beyond what imports take."""
    import scipy.sparse.csgraph
    import scipy.sparse.linalg  # noqa: F401 - not part of what is measured

    def largest() -> float:  # of this process alone: what getrusage tells, a child inherits
        status = Path("/proc/self/status").read_text()
        return 1024.0 * next(
            float(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")
        )

    time_history(building(1, 2, 2).assemble(), {"n1_0_0.ux": 1.0}, PERIOD, steps=2)
    before = largest()
    model = building(*size).assemble()
    roof = f"n{size[0]}_{size[1] - 1}_{size[2] - 1}.ux"
    time_history(model, {roof: FORCES}, PERIOD, outputs=[roof])
    return {"memory": largest() - before}


def alone(what: str, argument: Any) -> Any:
    """Measure something in a process of its own, from an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--alone", what, json.dumps(argument)]
        environment = {**os.environ, "BONDLOOP_CACHE": folder}
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(run.stdout)


def large_ticks(python: str) -> None:
    """Print how long large ticks take from equations to C, and a step beside OpenSees."""
    print("### Coupled states, from equations to a running tick in C (field form, RK4), CPU time\n")
    print("| states | equations | tick | C text | C compiler | together | goal | one step |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for states in COUPLED:
        found = alone("coupled", states)
        parts = [found[name] for name in ("equations", "tick", "text", "compiler")]
        times = " | ".join(f"{t:.2f} s" for t in (*parts, sum(parts)))
        goal = "2 s" if states == COUPLED[-1] else ""
        print(f"| {states:,} | {times} | {goal} | {1e6 * found['step']:.1f} us |", flush=True)
    print("\n### A frame building by Newmark's scheme, 10 ms: a tick in C, beside OpenSees; CPU time\n")
    print(
        "| degrees of freedom | tick and C | C compiler | one step | OpenSees | times | velocity differs "
        "| memory | OpenSees | times |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in BUILDINGS:
        found = alone("implicit", size)
        own = alone("memory", size)["memory"]
        row = f"| {found['dofs']:,} | {found['build'][0]:.2f} s | {found['build'][1]:.2f} s "
        row += f"| {1e3 * found['step']:.2f} ms "
        theirs = _opensees_building(python, size)
        if theirs is None:
            print(f"{row}| - | - | - | {own / 1e6:.0f} MB | - | - |")
            continue
        speed = np.array(found["speed"])
        off = np.abs(speed - theirs["speed"]).max() / np.abs(speed).max()
        step, needed = theirs["seconds_per_step"], theirs["memory"]
        print(
            f"{row}| {1e3 * step:.1f} ms | {step / found['step']:.0f} | {off:.1e} | {own / 1e6:.0f} MB "
            f"| {needed / 1e6:.0f} MB | {own / needed:.1f} |"
        )
    print()


def _opensees_building(python: str, size: tuple[int, int, int]) -> dict[str, Any] | None:
    """Return the fastest step and the least memory of OpenSees' solvers for symmetric matrices."""
    s = building(1, 2, 2)
    results = []
    for solver in ("SparseSYM", "BandSPD"):
        given = {"storeys": size[0], "across": size[1], "deep": size[2], "section": COLUMN, "solver": solver}
        given |= {"damping": s._proportional, "h": PERIOD, "forces": FORCES.tolist()}
        script = Path(__file__).with_name("opensees_building.py")
        run = subprocess.run(
            [python, str(script), json.dumps(given)], capture_output=True, text=True, check=False
        )
        if run.returncode:
            return None
        results.append(json.loads(run.stdout))
    best = {key: min(r[key] for r in results) for key in ("seconds_per_step", "memory")}
    return {**results[0], **best}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--opensees", default=sys.executable, help="a Python that has OpenSeesPy")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        what, argument = given.alone
        measures: dict[str, Callable[[Any], Any]] = {
            "coupled": coupled,
            "implicit": implicit,
            "memory": memory,
        }
        print(json.dumps(measures[what](json.loads(argument))))
        return
    if given.opensees == sys.executable and importlib.util.find_spec("openseespy") is None:
        print("OpenSeesPy is not installed beside bondloop; name a Python that has it with --opensees.\n")
    print(f"Wall time on {os.cpu_count()} cores, the shortest of several runs.\n")
    large_models()
    compile_cantilever()
    in_the_loop()
    large_ticks(given.opensees)
    beside_opensees(given.opensees)


if __name__ == "__main__":
    main()
