"""The list of ready-made models and tests."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal, cast

from bondloop.errors import InputError, unknown_name

if TYPE_CHECKING:
    from bondloop.bondgraph import Model


@dataclass(frozen=True)
class Entry:
    """One ready-made model or test.

    Parameters
    ----------
    name
        What the user types: ``gawthrop-three-mass``.
    summary
        One line for ``bondloop list``.
    module
        The module that defines it; it offers ``model()``, which returns a new `Model`.
    kind
        ``"model"``: equations and a drawing; ``"test"``: can be checked and run; ``"simulation"``: can be
        run, but has no rig.
    """

    name: str
    summary: str
    module: str
    kind: Literal["model", "test", "simulation"]

    def load(self) -> ModuleType:
        """Import the module: ``model()``, and for tests ``test(...)``, ``SECONDS``, ``findings(run)``.

        Some tests also offer ``figures(run, folder)``.
        """
        return import_module(self.module)

    def model(self) -> Model:
        """Import the entry's module and return a new copy of its model."""
        return cast("Model", self.load().model())


_ENTRIES = (
    Entry(
        name="bayer-substep",
        summary="A payload on a shaking table, a rocket in the computer, Newmark in sub-steps (Bayer 2000)",
        module="bondloop.papers.bayer_substep",
        kind="test",
    ),
    Entry(
        name="dasilva-beam",
        summary="A beam with a suspended mass as a bond graph, network and field form (da Silva 1994)",
        module="bondloop.papers.dasilva_beam",
        kind="simulation",
    ),
    Entry(
        name="dubois-damper",
        summary="A damper on a hydraulic actuator that is identified, inverted and predicted (du Bois 2010)",
        module="bondloop.papers.dubois_damper",
        kind="test",
    ),
    Entry(
        name="gawthrop-three-mass",
        summary="Three masses in a chain, the third on a transfer system, virtual junction (Gawthrop 2005)",
        module="bondloop.papers.gawthrop_three_mass",
        kind="test",
    ),
    Entry(
        name="gawthrop-two-actuators",
        summary="A mass between two actuators, two interfaces, 1 kHz, virtual junction (Gawthrop 2005)",
        module="bondloop.papers.gawthrop_two_actuators",
        kind="test",
    ),
    Entry(
        name="marths-benchmark",
        summary="The multi-axial benchmark: two coupled actuators turn and move a joint (Condori Uribe 2023)",
        module="bondloop.papers.marths_benchmark",
        kind="test",
    ),
    Entry(
        name="mr-damper-building",
        summary="A measured magneto-rheological damper in the first of three storeys under El Centro",
        module="bondloop.papers.mr_damper_building",
        kind="test",
    ),
    Entry(
        name="silva-benchmark",
        summary="The field's benchmark: three floors under El Centro on a late actuator (Silva 2020)",
        module="bondloop.papers.silva_benchmark",
        kind="test",
    ),
    Entry(
        name="wagg-three-mass",
        summary="The three-mass chain with an adaptive MCS controller (Wagg 2001)",
        module="bondloop.papers.wagg_three_mass",
        kind="test",
    ),
    Entry(
        name="wagg-two-mass-rig",
        summary="Two masses on a track with friction, MCS at 512 Hz (Wagg 2001)",
        module="bondloop.papers.wagg_two_mass_rig",
        kind="test",
    ),
)


def entries() -> tuple[Entry, ...]:
    """Return every ready-made model and test, in the order they are listed.

    Examples
    --------
    >>> [entry.name for entry in entries()]
    [...'gawthrop-three-mass'...]
    """
    return _ENTRIES


def find(name: str) -> Entry:
    """Return the entry called `name`.

    Parameters
    ----------
    name
        As ``bondloop list`` shows it.

    Raises
    ------
    InputError
        When there is none; the message names the nearest ones.

    Examples
    --------
    >>> find("gawthrop-three-mas")
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown model 'gawthrop-three-mas'; did you mean 'gawthrop-three-mass'...
    """
    for entry in _ENTRIES:
        if entry.name == name:
            return entry
    raise InputError(unknown_name("model", name, (entry.name for entry in _ENTRIES)))
