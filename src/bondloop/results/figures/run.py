"""The figures of one run, as ``run.plot.subspace()`` and its kin."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bondloop.display import brief
from bondloop.engine.data import number
from bondloop.errors import InputError
from bondloop.results.figures.earthquake import drift_profile, energies, hysteresis
from bondloop.results.figures.histories import Groups, gains, time_histories
from bondloop.results.figures.layout import finish, heading, page
from bondloop.results.figures.overview_figure import Pairs, checked, overview, subspace
from bondloop.results.figures.spectra import draw_spectrum
from bondloop.results.figures.structures import force_diagram
from bondloop.structures import largest_forces

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from bondloop.results.records.record import Record
    from bondloop.structures import Structure


Path = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class RunPlots:
    """The figures of a run whose actuators are known.

    Parameters
    ----------
    record
        The run.
    pairs
        Desired and actual channel of each actuator, by its name.
    gain_names
        Channels of adaptive gains, if the controller has any.
    title
        Over the overview.
    compared
        The part of the record in which actual is to be desired; all of it if not given. Errors, subspace
        plots and spectra are of this part.
    nodal
        Gives a structure of the run, by the path of its names, with the motion of its nodes over time, shape
        (times, nodes, 6).

    Examples
    --------
    >>> import numpy as np
    >>> from bondloop.results import Record
    >>> t = np.linspace(0, 1, 101)
    >>> record = Record(t, {"z": np.sin(9 * t), "x": np.sin(9 * t - 0.1)}, {"z": "m", "x": "m"})
    >>> plot = RunPlots(record, {"actuator 1": ("z", "x")})
    >>> type(plot.subspace()).__name__
    'Figure'
    >>> plot.gains()
    Traceback (most recent call last):
    bondloop.errors.InputError: this run has no adaptive gains
    """

    record: Record
    pairs: Pairs
    gain_names: Sequence[str] = ()
    title: str = ""
    compared: Record | None = None
    nodal: Callable[[str | None], tuple[Structure, NDArray[np.float64]]] | None = None

    __repr__ = brief

    @property
    def _compared(self) -> Record:
        return self.record if self.compared is None or len(self.compared) < 2 else self.compared

    def histories(self, groups: Groups | None = None, *, path: Path | None = None) -> Figure:
        """Draw desired and actual motion of every actuator over time, or the groups given.

        Parameters
        ----------
        groups
            Titles, each with its curves: channels by label. None: desired and actual motion.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        if groups is None:
            groups = {name: {"desired": d, "actual": a} for name, (d, a) in self.pairs.items()}
        return time_histories(self.record, groups, path=path)

    def subspace(self, *, path: Path | None = None) -> Figure:
        """Draw the subspace plot of every actuator, side by side.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        checked(self.record, self.pairs)
        desired, actual = zip(*self.pairs.values(), strict=True)
        return subspace(
            [self._compared[name] for name in desired],
            [self._compared[name] for name in actual],
            [self.record.units[name] for name in desired],
            sample_period=self.record.sample_period,
            titles=list(self.pairs),
            path=path,
        )

    def gains(self, *, path: Path | None = None) -> Figure:
        """Draw the adaptive gains.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        if not self.gain_names:
            raise InputError("this run has no adaptive gains")
        return gains(self.record, self.gain_names, path=path)

    def spectra(self, *, highest: float | str | None = None, path: Path | None = None) -> Figure:
        """Draw the spectra of every actuator, stacked, up to `highest` [Hz].

        Parameters
        ----------
        highest
            Where the axis of frequencies ends, in Hz; None: a little beyond the last
            line above the noise.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        checked(self.record, self.pairs)
        end = None if highest is None else number(highest, "highest", "Hz")
        figure = page(0.3 + 2.3 * len(self.pairs))
        stack = figure.subplots(len(self.pairs), 1, squeeze=False)[:, 0]
        period = self.record.sample_period
        for axes, (label, (desired, actual)) in zip(stack, self.pairs.items(), strict=True):
            x, y = self._compared[desired], self._compared[actual]
            draw_spectrum(axes, x, y, period, self.record.units[desired], end)
            heading(axes, label, lines_below=1)
        return finish(figure, path)

    def drifts(self, *, path: Path | None = None) -> Figure:
        """Draw the largest drift of every storey that is recorded.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return drift_profile(self.record, path=path)

    def energies(self, *, path: Path | None = None) -> Figure:
        """Draw where the energy went, as far as it is recorded.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return energies(self.record, path=path)

    def hysteresis(
        self, pairs: Mapping[str, tuple[str, str]] | None = None, *, path: Path | None = None
    ) -> Figure:
        """Draw force over displacement of every transfer system, or of channels named as pairs.

        Parameters
        ----------
        pairs
            Title: (displacement, force), names of channels. None: every transfer system.
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return hysteresis(self.record, pairs, path=path)

    def forces(
        self,
        force: str = "M",
        time: float | str | None = None,
        structure: str | None = None,
        *,
        path: Path | None = None,
    ) -> Figure:
        """Draw a section force on the deformed structure, by default when that force is largest anywhere.

        Parameters
        ----------
        force
            ``"N"``, ``"V"``, ``"M"``; in space ``"N"``, ``"Vy"``, ``"Vz"``, ``"T"``, ``"My"``, ``"Mz"``.
        time
            When, in s; the nearest sample is drawn.
        structure
            Which, by the path of its names, ``"numerical.frame"``; the first by default.
        path
            Where to save.
        """
        if self.nodal is None:
            raise InputError("nothing is known of the structure of this record; draw with force_diagram(...)")
        frame, motion = self.nodal(structure)
        if time is None:
            k = int(np.argmax(largest_forces(frame, motion, force)))
        else:
            k = int(np.argmin(np.abs(self.record.time - number(time, "time", "s"))))
        when = f"t = {self.record.time[k]:.4g} s"
        when += ", its largest in the run" if time is None else ", this instant"
        return force_diagram(frame, motion[k], force, title=when, path=path)

    def overview(self, *, path: Path | None = None) -> Figure:
        """Draw motion, error, subspace plot, reference, force and its loops of every actuator on one page.

        Parameters
        ----------
        path
            Where to save it as well, ``"run.png"``, ``"run.svg"`` or ``"run.pdf"``; None: it is only
            returned.
        """
        return overview(self.record, self.pairs, title=self.title, compared=self._compared, path=path)
