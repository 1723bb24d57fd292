"""A specimen of one's own: parameters and states named in a class, rates and force in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from bondloop.bondgraph import Input, Model, Port, bond
from bondloop.data.described import Described
from bondloop.errors import ModelError
from bondloop.program.law import Law
from bondloop.program.written import Readings

if TYPE_CHECKING:
    from bondloop.bondgraph.multiport import MassIs
    from bondloop.devices.ode_element import OdeElement
    from bondloop.program.traced import Value

__all__ = ["Imposed", "OdeSpecimen"]


@dataclass(frozen=True)
class Imposed(Readings):
    """How a specimen is moved; arrays, one entry for each interface, for several.

    Attributes
    ----------
    displacement, velocity
        Of its interface, in m and m/s.
    """

    displacement: Value = 0.0
    velocity: Value = 0.0


class OdeSpecimen(Law, Described, family="ode"):
    """A specimen that is written down as an ordinary differential equation: derive a class from it.

    It is moved at its interface and answers with a force. A class derived from it is a frozen dataclass by
    itself, whose fields with the type ``float`` are its parameters. `rates` and `force` use Python's
    operators and the functions of `bondloop.math`, and read the states as attributes of ``self``.

    `bondloop.rigs.mounted` makes of it the physical half of a test; `element` a part of a bond graph, beside
    masses, springs and whatever else moves with it.

    Attributes
    ----------
    states
        Its states by name, with initial values.
    units
        SI units of the states that have one, by name.
    interfaces
        At how many places it is moved.
    inputs
        Signals that it reads as attributes, by name with their units: ``{"current": "A"}``.
    mass_is
        How its mass goes with moving ground: ``"none"``, it has none, and stands on the ground with its other
        end; ``"carried"``, all of it hangs on its interface, as a tuned mass; ``"standing"``, it has mass and
        stands on the ground. None: not said, so that a test with ``ground=`` asks for it; a law without
        states has none.

    Examples
    --------
    A spring and a dashpot in series (Maxwell); the state is the spring's elongation:

    >>> from bondloop.rigs import Imposed, OdeSpecimen, mounted
    >>> class Maxwell(OdeSpecimen):
    ...     '''A spring and a dashpot in series.'''
    ...
    ...     stiffness: float = 1000.0
    ...     damping: float = 50.0
    ...     states = {"elongation": 0.0}
    ...     units = {"elongation": "m"}
    ...
    ...     def rates(self, motion):
    ...         return {"elongation": motion.velocity - self.stiffness * self.elongation / self.damping}
    ...
    ...     def force(self, motion):
    ...         return self.stiffness * self.elongation
    >>> Maxwell().at_states(elongation=0.01).force(Imposed())
    10.0
    >>> mounted(Maxwell()).compile().parameters
    {'maxwell.stiffness': 1000.0, 'maxwell.damping': 50.0}
    """

    units: ClassVar[Mapping[str, str]] = {}
    interfaces: ClassVar[int] = 1
    inputs: ClassVar[Mapping[str, str]] = {}
    mass_is: ClassVar[MassIs | None] = None
    _assigns: ClassVar[bool] = False

    def force(self, motion: Imposed) -> Value:  # noqa: ARG002 - what every specimen has to say
        """Return the force that moves it: a spring that is pulled out by x needs +k x.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        raise ModelError(f"{type(self).__name__}: write its method force(self, motion)")

    def rates(self, motion: Imposed) -> Mapping[str, Value]:  # noqa: ARG002 - without states there are none
        """Return the rate of change of each state, by name.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        return {}

    def memory(self, motion: Imposed) -> Mapping[str, Value]:  # noqa: ARG002 - most remember nothing
        """Return what each state that is a memory becomes at the beginning of a step, by name.

        Such a state has no rate: within a step it stays. What it becomes may depend on the displacement then
        and on the states, so that the force is the same before and after: ``force`` says where the law leads
        from what it remembers, on a way without a turn, and ``memory`` what is remembered there.

        Parameters
        ----------
        motion
            How it is moved: ``displacement``, ``velocity``.
        """
        return {}

    def at_states(self, **states: Value) -> Self:
        """Return a copy that stands at some states and inputs, whose formulas take numbers."""
        signals = {name: states.pop(name, 0.0) for name in self.inputs}
        return self.running({}, self.checked_states(states), **signals)

    def element(self, driven: Sequence[str] = ()) -> OdeElement:
        """Return it as a part of a bond graph: a port that takes a velocity and gives a force.

        Signals that it reads (``inputs``) are bonded to it in the order of their names.

        Parameters
        ----------
        driven
            Names of parameters that signals set instead, such as a current, bonded after those.
        """
        from bondloop.devices.ode_element import ode_element

        return ode_element(self, driven)

    def model(self) -> Model:
        """Return it as a model with the port ``end``, or ``end_0``, ``end_1``, ... for several interfaces.

        Signals that it reads are inputs of the model, by their names.
        """
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__).lower()
        model, part = Model(name), self.element()
        setattr(model, name, part)
        for port in part.port_names:
            setattr(model, port, Port())
            bond(getattr(model, port), getattr(part, port) if self.interfaces > 1 else part)
        for signal, unit in self.inputs.items():
            setattr(model, signal, Input(signal, unit=unit))
            bond(getattr(model, signal), part)
        return model
