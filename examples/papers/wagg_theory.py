"""The passivity that Wagg and Stoten 2001 ask for, and why the gains of their simulation burst without it.

Equation (11) asks that {A_m, B_e, C_e} is strictly positive real, with A_m = H14 of the numerical half
(equations 7 to 9): here a mass on a spring and a damper, s^2 + (c2/m2) s + k2/m2. A row C_e = [w0, w1] makes
it that just for 0 < w0/w1 < c2/m2.

Where it is not, this is what happens. Let the motions w = (x, dx/dt, r) that the gains multiply stand still
for a while. Then the law is a PI controller of the error, with gains that grow with the motion squared:

    s (s^2 + c s + k) + W (beta s + alpha) (w1 s + w0) = 0,    W = |w|^2 / m_t.

A PI controller is passive, so with a strictly positive real model this is stable for every W. Otherwise it is
unstable for small W, up to a level that follows from Routh's criterion. There the error grows, ringing, until
it is itself the motion that raises W above the level: a burst.

References
----------
Wagg, D. J., Stoten, D. P. (2001). Substructuring of dynamical systems via the adaptive minimal control
synthesis algorithm. Earthquake Engineering and Structural Dynamics 30(6), 865-877. doi:10.1002/eqe.44
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bondloop.engine.analysis import PositiveRealness, positive_realness
from bondloop.papers import wagg_three_mass
from bondloop.papers.gawthrop_three_mass import CUT
from bondloop.substructure import ReferenceModel, numerical_half, reference_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bondloop.bondgraph import Model
    from bondloop.rehearsal import Run


def reference(model: Model | None = None) -> ReferenceModel:
    """Return A_m = H14 and B_e of the three-mass chain's numerical half, or of another model's.

    Parameters
    ----------
    model
        Complete, with the paper's cut.
    """
    whole = wagg_three_mass.model() if model is None else model
    return reference_model(numerical_half(whole.cut(CUT)[0]))


def realness(weights: Sequence[float], model: ReferenceModel | None = None) -> PositiveRealness:
    """Return what is found of g_e(s) = C_e (s I - A_m)^-1 B_e (equation 11).

    Parameters
    ----------
    weights
        The row C_e.
    model
        A_m and B_e; those of the three-mass chain where none are given.

    Examples
    --------
    >>> realness([400, 1]).strict, realness([0.05, 1]).strict
    (False, True)
    """
    m = model or reference()
    return positive_realness(m.A, m.B, [list(weights)])


def growth(
    level: float, alpha: float, beta: float, weights: Sequence[float], model: ReferenceModel
) -> complex:
    """Return the least stable root, in rad/s, of the error's loop with the motion frozen.

    Parameters
    ----------
    level
        W: the motion that the gains multiply, squared, over the mass of the transfer system.
    alpha, beta, weights
        Of the law.
    model
        A_m.
    """
    k, c = -model.A[1]
    w0, w1 = weights
    roots = np.roots(np.polyadd([1.0, c, k, 0.0], level * np.polymul([beta, alpha], [w1, w0])))
    return complex(max(roots, key=lambda s: (s.real, s.imag)))


def quiet_level(alpha: float, beta: float, weights: Sequence[float], model: ReferenceModel) -> float:
    """Return the level W from which on the error's loop is stable with the motion frozen; 0: from rest on.

    Routh: ``(c + b w1 W)(k + (b w0 + a w1) W) > a w0 W``.

    Examples
    --------
    >>> m = reference()
    >>> round(quiet_level(100, 10, [400, 1], m), 3), quiet_level(100, 10, [0.05, 1], m)
    (0.965, 0.0)
    """
    k, c = (-model.A[1]).tolist()
    w0, w1 = (float(w) for w in weights)
    square = beta * w1 * (beta * w0 + alpha * w1)
    linear = beta * w1 * k + c * (beta * w0 + alpha * w1) - alpha * w0
    inside = linear**2 - 4 * square * c * k
    return max(0.0, (-linear + math.sqrt(inside)) / (2 * square)) if inside > 0 else 0.0


def motion(run: Run, mass: float = 1.0) -> NDArray[np.float64]:
    """Return the level W over a run of the three-mass chain, from the motion that is desired.

    That is the motion without bursts, and the reference r.
    """
    x, v = run["desired.displacement"], run["desired.velocity"]
    r = wagg_three_mass.AMPLITUDE * np.cos(run.time)
    return np.asarray((x**2 + v**2 + r**2) / mass)
