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
    kind
        ``"test"``: can be checked and run; ``"simulation"``: can be run, but has no rig.
    """

    name: str
    summary: str
    kind: Literal["test", "simulation"] = "test"

    def load(self) -> ModuleType:
        """Import the module of this name: ``model()``, ``test(...)``, ``SECONDS`` and ``findings(run)``.

        Some also offer ``figures(run, folder)``.
        """
        return import_module(f"bondloop.papers.{self.name.replace('-', '_')}")

    def model(self) -> Model:
        """Import the entry's module and return a new copy of its model."""
        return cast("Model", self.load().model())


_ENTRIES = (
    Entry(
        "bayer-substep",
        "A payload on a shaking table, a rocket in the computer, Newmark in sub-steps (Bayer 2000)",
    ),
    Entry(
        "dasilva-beam",
        "A beam with a suspended mass as a bond graph, network and field form (da Silva 1994)",
        "simulation",
    ),
    Entry(
        "dubois-damper",
        "A damper on a hydraulic actuator that is identified, inverted and predicted (du Bois 2010)",
    ),
    Entry(
        "gawthrop-three-mass",
        "Three masses in a chain, the third on a transfer system, virtual junction (Gawthrop 2005)",
    ),
    Entry(
        "gawthrop-two-actuators",
        "A mass between two actuators, two interfaces, 1 kHz, virtual junction (Gawthrop 2005)",
    ),
    Entry(
        "marths-benchmark",
        "The multi-axial benchmark: two coupled actuators turn and move a joint (Condori Uribe 2023)",
    ),
    Entry(
        "mr-damper-building",
        "A measured magneto-rheological damper in the first of three storeys under El Centro",
    ),
    Entry(
        "silva-benchmark",
        "The field's benchmark: three floors under El Centro on a late actuator (Silva 2020)",
    ),
    Entry("wagg-three-mass", "The three-mass chain with an adaptive MCS controller (Wagg 2001)"),
    Entry("wagg-two-mass-rig", "Two masses on a track with friction, MCS at 512 Hz (Wagg 2001)"),
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
