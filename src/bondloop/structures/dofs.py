"""What the degrees of freedom of a structure are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bondloop.bondgraph import ROTATION, TRANSLATION, Domain
from bondloop.engine.data import number
from bondloop.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


ROTATIONS = ("rx", "ry", "rz")
"""Words of degrees of freedom that are rotations."""


def dof_word(dof: str) -> str:
    """Return what a degree of freedom is at its node, the last word of its name.

    >>> dof_word("floor[2].ux")
    'ux'
    """
    return dof.rpartition(".")[2]


def dof_domain(dof: str) -> Domain:
    """Return the domain of a degree of freedom: its name, ``node.word``, is how structures define it.

    >>> dof_domain("tip.rz").name, dof_domain("floor[2].ux").name
    ('rotation', 'translation')
    """
    return ROTATION if dof_word(dof) in ROTATIONS else TRANSLATION


def force_on(dof: str, given: object, what: str) -> float:
    """Return a force or moment on a degree of freedom in SI.

    Parameters
    ----------
    dof
        Its name.
    given
        A number, or a text with a unit.
    what
        What it is for, in the message.

    Examples
    --------
    >>> force_on("tip.rz", "2 kN m", "static")
    2000.0
    """
    return number(given, f"{what}: the force on {dof}", dof_domain(dof).effort.unit)


def weight_of(dof: str, given: object, total: Domain, what: str) -> float:
    """Return the weight of a degree of freedom in a sum: a length where a rotation makes a translation.

    Parameters
    ----------
    dof
        Its name.
    given
        A number, or a text with a unit.
    total
        What the sum measures: that of a translation, or of a rotation.
    what
        What it is, for the message.

    Examples
    --------
    >>> weight_of("tip.rz", "20 cm", TRANSLATION, "weight"), weight_of("tip.uy", "5 1/m", ROTATION, "weight")
    (0.2, 5.0)
    """
    own = dof_domain(dof)
    unit = "1" if own is total else "m" if total is TRANSLATION else "1/m"
    return number(given, what, unit)


def forces_in_a_row(given: object, what: str) -> NDArray[np.float64]:
    """Return forces that are not named as an array of floats.

    Parameters
    ----------
    given
        Numbers.
    what
        What they are for, in the message.
    """
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"{what}: expected forces by degree of freedom, {{'floor[1].ux': '10 kN'}}, or all of them as "
            f"numbers; found {given!r:.60}"
        ) from None
