"""What every device of the package is: a law with parameters that are checked, and states of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from bondloop.devices.ode_specimen import OdeElement, OdeSpecimen
from bondloop.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from bondloop.bondgraph import Model


FORCE, LENGTH, VELOCITY = ("N", "N m"), ("m", "rad"), ("m/s", "rad/s")
STIFFNESS, DAMPING = ("N/m", "N m/rad"), ("N s/m", "N m s/rad")
"""What the parameters of a device measure, along an axis or about it."""


class Device(OdeSpecimen, family="device"):
    """Base of dampers, bearings, braces and hinges; a specimen, or a part of any bond graph.

    It is moved at its end and answers with a force, by ``force`` of displacement, velocity and its states.
    States change at ``rates``, or are a ``memory``, which is renewed at the beginning of every step. Power
    counts as positive into it: pulled out by x, a spring answers +k x.

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.devices import Bilinear
    >>> brace = Bilinear(stiffness="2 kN/mm", yield_force="10 kN", hardening=0.0)
    >>> brace.respond([0, 4e-3, 8e-3, 4e-3, 0], rate=100, backend="numpy").tolist()
    [0.0, 8000.0, 10000.0, 2000.0, -6000.0]
    """

    source: ClassVar[str] = ""
    """Where the law comes from."""

    not_fitted: ClassVar[tuple[str, ...]] = ()
    """Parameters that a fit leaves as they are unless it is told to free them."""

    @property
    def stroke(self) -> float:
        """A displacement at which it shows what it does, m: of the pictures."""
        return 0.05

    @property
    def pendulum_stiffness(self) -> float | None:
        """Of the weight that it lifts by its displacement, N/m; None where that alone does not tell it."""
        return 0.0

    def respond(
        self,
        displacement: ArrayLike,
        rate: float | str,
        *,
        velocity: ArrayLike | None = None,
        substeps: int | None = None,
        backend: str = "auto",
        **inputs: ArrayLike,
    ) -> NDArray[np.float64]:
        """Return the force at every sample of a history of displacements, in N.

        Parameters
        ----------
        displacement
            Samples in m, or texts with units; between them it moves at a constant velocity.
        rate
            Samples a second.
        velocity
            At the samples, in m/s; by default central differences of the displacement.
        substeps
            Runge-Kutta steps between two samples, for states that have rates. Unless given, they are doubled
            until the force changes by less than a millionth of the largest. What is remembered of the
            displacement is exact.
        backend
            ``"auto"``, ``"c"`` or ``"numpy"``.
        **inputs
            What else it reads, by name: a number, or samples.
        """
        from bondloop.devices.driven import respond

        return respond(self, displacement, rate, velocity, inputs, substeps, backend)

    def loops(
        self, stroke: float | str | None = None, frequency: float | str = 0.5, cycles: int = 4
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return displacements and forces of cycles that grow to a stroke, then one at it, and back to zero.

        From turn to turn it moves as half a cosine, so the velocity does not jump.

        Parameters
        ----------
        stroke
            Largest displacement, m; by default `stroke`.
        frequency
            Cycles a second, Hz.
        cycles
            How many cycles grow.
        """
        from bondloop.engine.data import POSITIVE

        most = self.stroke if stroke is None else POSITIVE.check(stroke, "loops(stroke)", "m", "rad")
        f = POSITIVE.check(frequency, "loops(frequency)", "Hz")
        asked: object = cycles
        if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or asked < 0:
            raise InputError(f"loops(cycles): expected a whole number from 0 on; found {cycles!r}")
        sizes = [most * (i + 1) / cycles for i in range(cycles)]
        turns = [0.0, *(s for size in (*sizes, most) for s in (size, -size)), 0.0]
        phase = np.pi * np.arange(500) / 500
        ways = np.diff(turns)[:, None]
        x = np.append((np.array(turns[:-1])[:, None] + ways * (1 - np.cos(phase)) / 2).ravel(), 0.0)
        v = np.append((ways * np.pi * f * np.sin(phase)).ravel(), 0.0)
        return x, self.respond(x, 1000 * f, velocity=v)

    def plot_loops(
        self,
        stroke: float | str | None = None,
        frequency: float | str = 0.5,
        cycles: int = 4,
        path: str | Path | None = None,
    ) -> Figure:
        """Draw the loops of force over displacement; a file with ``path``.

        Parameters
        ----------
        stroke, frequency, cycles
            As for `loops`.
        path
            Where to write the picture: ``"loops.png"``, ``"loops.svg"``.
        """
        return loops_figure(self, *self.loops(stroke, frequency, cycles), path=path)


def device_at(model: Model, path: str) -> OdeElement:
    """Return the device at a path of a model, as an element.

    Parameters
    ----------
    model
        Where to look.
    path
        Of the device.
    """
    part = model.find(path)
    if isinstance(part, OdeElement) and isinstance(part.law, Device):
        return part
    raise InputError(f"{path} is no device but a {type(part).__name__}; its loops cannot be drawn")


PREFIXES = ((1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"))


def _scaled(values: NDArray[np.float64], unit: str) -> tuple[NDArray[np.float64], str]:
    most = float(np.max(np.abs(values), initial=0.0))
    size, letter = next((p for p in PREFIXES if most >= p[0]), (1.0, "") if most == 0 else PREFIXES[-1])
    return values / size, f"{letter}{unit}"


def draw_loops(axes: Axes, displacement: NDArray[np.float64], force: NDArray[np.float64]) -> None:
    """Draw loops into axes."""
    x, x_unit = _scaled(displacement, "m")
    f, f_unit = _scaled(force, "N")
    axes.axhline(0, color="0.8", linewidth=0.8)
    axes.axvline(0, color="0.8", linewidth=0.8)
    axes.plot(x, f, linewidth=1.2, color="#1f6f8b")
    axes.set_xlabel(f"displacement [{x_unit}]")
    axes.set_ylabel(f"force [{f_unit}]")


def loops_figure(
    device: Device,
    displacement: NDArray[np.float64],
    force: NDArray[np.float64],
    *,
    path: str | Path | None = None,
) -> Figure:
    """Return a figure of loops, and write it to a file where a path is given."""
    from bondloop.display import Figure, save

    figure = Figure(figsize=(5.2, 4.0), layout="constrained")
    axes = figure.subplots()
    draw_loops(axes, displacement, force)
    axes.set_title(type(device).__name__)
    if path is not None:
        try:
            save(figure, Path(path), Path(path).suffix.lower()[1:], 150)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write the picture '{path}': {error}") from error
    return figure
