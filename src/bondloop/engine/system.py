"""A continuous-time system, with all that can be read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bondloop.display import listed, notebook, paragraph, table, with_progress
from bondloop.engine.data import describable, family_word
from bondloop.engine.ir import SystemData

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray
    from scipy import signal

    from bondloop.engine.analysis import Equations, SteadyState, Symbolic, ZeroDynamics
    from bondloop.engine.analysis.simulation import InputValue, Trajectory
    from bondloop.engine.ir import StateSpace


@dataclass(frozen=True, eq=False, repr=False)
class System(SystemData):
    """States, inputs, outputs and parameters, related by a program of small named assignments.

    Usually made by ``Model.compile()``. Every variable has a path name, the same in equations, results,
    generated code and messages.

    Parameters
    ----------
    name
        Name of the system.
    interface
        States, inputs, outputs and parameters.
    program
        The assignments that relate them.
    storage
        Initial values and memories.
    modes
        How it switches, or which mode it is of.
    annotations
        What notes and messages say of it.
    inversion
        Of an inverse: how it came about.
    """

    def _repr_html_(self) -> str:
        names = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        rows = [(word, str(len(paths)), listed(paths)) for word, paths in names.items()]
        values = [n if x is None else f"{n} = {x:.6g}" for n, x in self.parameters.items()]
        rows.append(("parameters", str(len(values)), listed(values)))
        notes = [paragraph(f"Note: {note}") for note in self.notes]
        return notebook(f"System {self.name}", [table(("", "", ""), rows, ("", "number", "")), *notes])

    def _repr_latex_(self) -> str | None:
        few = 8  # with more states, nobody reads their equations
        return self.equations()._repr_latex_() if len(self.states) <= few else None

    @cached_property
    def notes(self) -> list[str]:
        """What the causality implies, each by name: dependent storages, algebraic loops, input rates.

        Of an inverse also its zero dynamics, judged where the model starts.
        """
        from bondloop.engine.analysis import notes

        return notes(self)

    # ------------------------------------------------------------------ readings

    def equations(self, form: str = "state") -> Equations:
        """Readable equations.

        Parameters
        ----------
        form
            ``"state"``: rates and outputs in terms of states and inputs; loops of more than a few unknowns
            stay as equations, and where rates depend on each other through the states the form is the
            next; equations that would be endless (of a long law) are shown as the program.
            ``"descriptor"``: E(x) dx/dt = f(x, u), no rate solved for. ``"causal"``: the program,
            one assignment a line, in the order of computation.
        """
        from bondloop.engine.analysis import equations

        return equations(self, form, self.symbolic)

    @cached_property
    def symbolic(self) -> Symbolic:
        """The symbolic reading: rates, outputs and Jacobians as SymPy expressions."""
        from bondloop.engine.analysis import Symbolic

        return Symbolic(self)

    @property
    def A(self) -> Any:
        """SymPy matrix d(rates)/d(states); depends on the states where the model is nonlinear."""
        return self.symbolic.jacobian("rates", "states")

    @property
    def B(self) -> Any:
        """SymPy matrix d(rates)/d(inputs)."""
        return self.symbolic.jacobian("rates", "inputs")

    @property
    def C(self) -> Any:
        """SymPy matrix d(outputs)/d(states)."""
        return self.symbolic.jacobian("outputs", "states")

    @property
    def D(self) -> Any:
        """SymPy matrix d(outputs)/d(inputs)."""
        return self.symbolic.jacobian("outputs", "inputs")

    def numeric(self, values: Mapping[str, float] | None = None) -> StateSpace:
        """Sparse E, A, B, C, D of a linear system.

        Parameters
        ----------
        values
            Parameter values that replace the model's own.
        """
        from bondloop.engine.passes import numeric

        return numeric(self, values)

    def linearise(
        self,
        states: Mapping[str, float] | ArrayLike | None = None,
        inputs: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
        modes: Mapping[str, int | str] | None = None,
    ) -> StateSpace:
        """Sparse E, A, B, C, D at an operating point; of what switches, in the mode that holds there.

        Parameters
        ----------
        states
            By name, the others as the model starts; or a full vector.
        inputs
            By name, the others as the model gives them (``Se(effort=...)``), or zero; or a full vector.
        values
            Parameter values that replace the model's own.
        modes
            Of a system that switches: another mode, as for `Model.compile`. The result names the mode; modes,
            and storages that follow from others in it, are none of its states.
        """
        from bondloop.engine.analysis import linearise

        return linearise(self, states, inputs, values, modes)

    def poles(self, values: Mapping[str, float] | None = None) -> NDArray[np.complex128]:
        """Poles in rad/s; what is not linear is linearised where it starts, with the model's own inputs.

        What switches is so in the mode that holds there, which ``linearise().mode`` tells.

        Parameters
        ----------
        values
            Parameter values that replace the model's own, by name.
        """
        return self._local(values).poles()

    def frequency_response(
        self, omega: ArrayLike, values: Mapping[str, float] | None = None
    ) -> NDArray[np.complex128]:
        """Frequency response at angular frequencies in rad/s, shape (frequencies, outputs, inputs).

        Parameters
        ----------
        omega
            Angular frequencies in rad/s, any number of them.
        values
            Parameter values that replace the model's own, by name. What is not linear is linearised where
            it starts.
        """
        return self._local(values).frequency_response(omega)

    def _local(self, values: Mapping[str, float] | None) -> StateSpace:
        from bondloop.engine.analysis import local_space

        return local_space(self, values=values)

    def transfer_function(self, output: str, input: str) -> Any:  # noqa: A002
        """Symbolic transfer function of a small linear system, as a SymPy expression in ``s``.

        One that is improper (an output that needs an input's rate) is its polynomial part plus the strictly
        proper rest.

        Parameters
        ----------
        output, input
            Names of one of the outputs and one of the inputs.
        """
        return self.symbolic.transfer_function(output, input)

    def steady_state(
        self,
        inputs: Mapping[str, float] | None = None,
        values: Mapping[str, float] | None = None,
        initial: Mapping[str, float] | ArrayLike | None = None,
    ) -> SteadyState:
        """States at which nothing changes, as the motion from the start leads to them.

        The inputs are constant. What is conserved keeps its value: two springs side by side keep the
        difference of their lengths. Of a model that switches the result is in the mode that holds at the end,
        and the modes are among the states: 0 where the flow is imposed (a stop closed, a diode off).

        Parameters
        ----------
        inputs
            By name; those left out keep the model's value (``Se(effort=...)``), or zero.
        values
            Parameter values that replace the model's own.
        initial
            Where the motion starts: states by name (others as the model says), or a full vector.

        Returns
        -------
        SteadyState
            Every state by its path, for example as the point of ``linearise(states, inputs)``. Where the
            equations leave a choice ``unique`` is false, ``free`` names the states that they leave open and
            ``remark`` says so.

        Raises
        ------
        SolveError
            Where nothing comes to rest, or where it cannot be known at which of several rests it does.

        Warns
        -----
        StabilityWarning
            Where the only steady state is unstable.
        ModeWarning
            Where the model was compiled with ``modes={...}`` and its mode does not hold there.

        Examples
        --------
        >>> from bondloop.bondgraph import C, I, Model, One, R, Se, Stop
        >>> m = Model("buffer")
        >>> m.v, m.spring, m.stop = One(), C(stiffness=1000), Stop(gap=0.01)
        >>> _ = Se("F") >> m.v >> [I(mass=1), m.spring, R(damping=10), m.stop]
        >>> rest = m.compile().steady_state({"F": 30})  # 30 mm without the stop
        >>> print(f"{rest['spring.displacement']:.6f}")
        0.010000
        """
        from bondloop.engine.analysis import steady_state

        return steady_state(self, inputs, values, initial)

    def inverse(self, output: str | Sequence[str], input: str | Sequence[str]) -> System:  # noqa: A002
        """Return the inverse: the motion of an output goes in, the input that causes it comes out.

        Parameters
        ----------
        output
            Path of the variable that is to follow a motion, or of several.
        input
            Name of the input that is to be found, or of as many. The other inputs stay inputs.

        Returns
        -------
        System
            One whose inputs are the motions and those of their rates that it needs
            (``"d/dt tip.flow"``, ``"d2/dt2 tip.flow"``), and whose states are the zero dynamics, judged by
            ``zero_dynamics()`` and in ``notes``. Its ``inversion`` says how it came about.

        Raises
        ------
        SolveError
            Where no path leads from input to output, where the outputs cannot be moved independently, or
            where the relative degree is not defined.
        """
        from bondloop.engine.passes import inverse_system

        return inverse_system(self, output, input)

    def zero_dynamics(
        self,
        states: Mapping[str, float] | ArrayLike | None = None,
        inputs: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
    ) -> ZeroDynamics:
        """Return and judge what the imposed motions of an inverse leave free.

        What is not linear is linearised at an operating point. How far a stop has come that cannot switch
        here is no part of it.

        Parameters
        ----------
        states, inputs, values
            The operating point and the values of parameters, as for ``linearise``.

        Examples
        --------
        >>> from bondloop.bondgraph import I, Model, One, R, Se
        >>> m = Model("cart")
        >>> m.force, m.v, m.mass, m.drag = Se("F"), One(), I(mass=2.0), R(damping=3.0)
        >>> _ = m.force >> m.v >> [m.mass, m.drag]
        >>> m.compile(outputs=["v.flow"]).inverse("v.flow", "F").zero_dynamics().verdict
        'none'
        """
        from bondloop.engine.analysis import zero_dynamics

        return zero_dynamics(self, states, inputs, values)

    def sensitivity(self, parameters: Sequence[str]) -> System:
        """Return the system extended by its sensitivity equations with respect to named parameters.

        The result has, besides the original states and outputs, ``d(state)/d(parameter)`` and
        ``d(output)/d(parameter)``: the sensitivity bond graph (Gawthrop 2000) in equation form.

        Parameters
        ----------
        parameters
            Their names; an unknown one is refused.
        """
        from bondloop.engine.passes import sensitivity_system

        return sensitivity_system(self, parameters)

    @with_progress("simulating")
    def simulate(  # noqa: PLR0913 - what to integrate, and how
        self,
        duration: float | str | tuple[float | str, float | str],
        inputs: Mapping[str, InputValue | str] | None = None,
        initial: Mapping[str, float] | ArrayLike | None = None,
        values: Mapping[str, float] | None = None,
        *,
        times: ArrayLike | None = None,
        method: str | None = None,
        rtol: float = 1e-9,
        atol: float | None = None,
        max_step: float | str = np.inf,
    ) -> Trajectory:
        """Integrate with SciPy's solvers; see `bondloop.engine.analysis.simulation`.

        Parameters
        ----------
        duration
            Length in s, or (start, end); numbers or texts with a unit.
        inputs
            Each input by name: a number, a function of time in s, or a pair (times, values) that is
            interpolated. Inputs left out keep the model's value, or zero. Where a rate of an input is
            needed (see ``system.notes``), give it under ``"d/dt NAME"``; for numbers and pairs it is
            worked out. So it is for the motions imposed on an inverse, whose samples are joined by a spline
            that is smooth enough for the highest rate.
        initial
            Initial states by name, those not named as the model says; or all of them as a vector.
        values
            Parameter values that replace the model's own, by name.
        times
            Instants in s at which to report; by default 1,000, evenly spaced.
        method
            ``"DOP853"``, ``"RK45"``, ``"RK23"``, ``"Radau"``, ``"BDF"`` or ``"LSODA"``; by default the
            first, and ``"BDF"`` as long as the motion is stiff.
        rtol
            Relative tolerance.
        atol
            Absolute tolerance in SI units, the same for all states; by default 1e-12 of the size of each.
        max_step
            Largest step in s, or text, ``"1 ms"``; events of a system that switches are found whatever it is.
        """
        from bondloop.engine.analysis.simulation import simulate

        return simulate(
            self, duration, inputs, initial, values,
            times=times, method=method, rtol=rtol, atol=atol, max_step=max_step,
        )  # fmt: skip

    def to_scipy(self) -> signal.StateSpace:
        """Return a ``scipy.signal.StateSpace``."""
        return self._local(None).to_scipy()

    def to_control(self) -> Any:
        """Return a python-control ``StateSpace`` with the same names."""
        return self._local(None).to_control()

    def write_fmu(
        self, path: str | Path, *, rate: float | str | None = None, version: int = 3, binary: bool = True
    ) -> Path:
        """Write the system as an FMU: rates, outputs and directional derivatives, or steps of its own.

        Parameters
        ----------
        path
            Of the file, ``"frame.fmu"``.
        rate
            Steps a second of an FMU for co-simulation, which integrates itself by RK4 with its inputs held
            (`bondloop.integrate.write_stepped_fmu` has other schemes); None for one for model exchange.
        version
            Of FMI, 2 or 3.
        binary
            Whether a binary for this platform is built and put in beside the C sources.
        """
        import bondloop

        if rate is None:
            return bondloop.fmu.write_system_fmu(self, path, version=version, binary=binary)
        return bondloop.integrate.write_stepped_fmu(self, path, rate=rate, version=version, binary=binary)

    @classmethod
    def of(cls, data: SystemData) -> System:
        """Return the system of bare data, over the same variables.

        Parameters
        ----------
        data
            What a pass made.
        """
        return cls(**{f.name: getattr(data, f.name) for f in fields(data)})

    @classmethod
    def from_control(cls, plant: Any, name: str | None = None) -> System:
        """Return a system from a continuous-time python-control ``StateSpace`` or ``TransferFunction``.

        Parameters
        ----------
        plant
            In continuous time; its names are kept. One with a sample period is refused.
        name
            Of the system; by default the plant's own.
        """
        from bondloop.engine.passes import control_system

        return cls.of(control_system(plant, name))

    @classmethod
    def from_state_space(cls, space: StateSpace, name: str = "system") -> System:
        """Return the system of named matrices, as a program of assignments, one row at a time.

        Parameters
        ----------
        space
            In continuous time.
        name
            Of the system.
        """
        from bondloop.engine.passes import space_system

        return cls.of(space_system(space, name))


family_word("System", "system", __name__)


@describable("system", "from_matrices")
def system_from_matrices(  # noqa: PLR0913 - four matrices, and what they mean
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    *,
    states: list[str] | None = None,
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    units: Mapping[str, str] | None = None,
    name: str = "system",
) -> System:
    """Return a system from dense or sparse matrices.

    Every entry that is not zero becomes a parameter ``A[i,j]``, unless there are many: more than 64
    stay as they are, products of matrices.

    Parameters
    ----------
    A, B, C, D
        Matrices of dx/dt = A x + B u, y = C x + D u.
    states, inputs, outputs
        Names; x[0], u[0], y[0] and so on where none are given.
    units
        SI units by name, of those that have one: ``{"tip.velocity": "m/s"}``; for records and figures.
    name
        Of the system.
    """
    from bondloop.engine.passes import matrix_system

    return System.of(
        matrix_system(A, B, C, D, states=states, inputs=inputs, outputs=outputs, units=units, name=name)
    )
