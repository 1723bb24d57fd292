"""Friction, backlash and hardening as bond graph elements, with parameters that can be set by path.

The laws are smooth enough to integrate: a sign is replaced by a hyperbolic tangent over a small width. The
width sets the largest slope, force/width, and so the time step that an explicit integrator needs: for a mass
m about 2 m width/force (forward Euler) to 2.8 m width/force (RK4).

References
----------
Armstrong-Hélouvry, Dupont and Canudas de Wit (1994), A survey of models, analysis tools and compensation
methods for the control of machines with friction. Automatica 30.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bondloop.bondgraph.elements import C, R, check_number
from bondloop.engine.data import FINITE, NOT_NEGATIVE, POSITIVE, Range, describable
from bondloop.errors import InputError, ModelError

_FORCE, _VELOCITY = ("N", "N m"), ("m/s", "rad/s")
_UNITS = {
    "force": _FORCE, "coulomb": _FORCE, "static": _FORCE, "preload": _FORCE, "velocity": _VELOCITY,
    "viscous": ("N s/m", "N m s/rad"), "stiffness": ("N/m", "N m/rad"), "gap": ("m", "rad"),
    "cubic": ("N/m^3", "N m/rad^3"), "width": (*_VELOCITY, "m", "rad"),
}  # fmt: skip
"""What the parameters of the laws measure, along an axis or about it."""


@describable("part")
def coulomb(force: Any, width: Any = 1e-3) -> R:
    """Return dry friction: force tanh(flow/width).

    Parameters
    ----------
    force
        Friction force, N; not negative.
    width
        Velocity over which the sign changes, m/s: 76 % of the force at it, 99.5 % at three times it.

    Notes
    -----
    It must be given a velocity: beside a mass, or moved by an actuator. In series with a spring it would be
    given a force, which does not tell how fast it slides; the model is then refused. There
    `bondloop.bondgraph.Clutch` can be used, which sticks and slides; or a mass between the two.

    Examples
    --------
    >>> from bondloop.bondgraph import Model, One, Se, I
    >>> slider = Model("slider")
    >>> slider.push, slider.v, slider.mass, slider.friction = Se("F"), One(), I(mass=1.0), coulomb("3 N")
    >>> _ = slider.push >> slider.v >> [slider.mass, slider.friction]
    >>> sorted(p for p in slider.compile().parameters if "friction" in p)
    ['friction.force', 'friction.width']
    """
    values = _checked("coulomb", {"force": (force, NOT_NEGATIVE), "width": (width, POSITIVE)})
    return R(_coulomb, _unknown_velocity, **values)


def _coulomb(flow: Any, force: Any, width: Any) -> Any:
    import sympy as sp

    return force * sp.tanh(flow / width)


def _unknown_velocity(effort: Any, force: Any, width: Any) -> Any:  # noqa: ARG001 - the law's parameters
    """Refuse the inverse.

    width atanh(effort/force) exists below the friction force only, and in floating point it is infinite long
    before: at 19 times the width the force is the friction force to the last digit.
    """
    raise ModelError(
        "dry friction gives a force where it is given a velocity, but here it is given a force (it stands in "
        "series with a spring, or a force acts on it alone), at which it may stand still or slide at any "
        "velocity; take bondgraph.Clutch(force), which sticks and slides, or put the mass that moves with it "
        "between them"
    )


@describable("part")
def stribeck(coulomb: Any, static: Any, velocity: Any, viscous: Any = 0.0, width: Any = 1e-3) -> R:
    """Return dry friction that is larger near rest, with viscous friction beside it.

    (coulomb + (static - coulomb) exp(-(flow/velocity)²)) tanh(flow/width) + viscous flow
    (Armstrong-Hélouvry et al. 1994, with a smooth sign).

    Parameters
    ----------
    coulomb
        Friction force in motion, N.
    static
        Friction force near rest, N; at least the one in motion. The peak of the smooth law is a little lower.
    velocity
        Stribeck velocity, m/s: where 37 % of the excess is left. Larger than the width.
    viscous
        Viscous coefficient, N s/m.
    width
        Velocity over which the sign changes, m/s.
    """
    values = _checked(
        "stribeck",
        {
            "coulomb": (coulomb, NOT_NEGATIVE),
            "static": (static, NOT_NEGATIVE),
            "velocity": (velocity, POSITIVE),
            "viscous": (viscous, NOT_NEGATIVE),
            "width": (width, POSITIVE),
        },
    )
    for small, large in (("coulomb", "static"), ("width", "velocity")):
        a, b = values[small], values[large]
        if isinstance(a, float) and isinstance(b, float) and a > b:
            raise InputError(f"stribeck: expected {small} at most {large}; found {a:g} and {b:g}")
    return R(_stribeck, **values)


def _stribeck(flow: Any, coulomb: Any, static: Any, velocity: Any, viscous: Any, width: Any) -> Any:
    import sympy as sp

    excess = (static - coulomb) * sp.exp(-((flow / velocity) ** 2))
    return (coulomb + excess) * sp.tanh(flow / width) + viscous * flow


@describable("part")
def dead_zone_spring(stiffness: Any, gap: Any, **options: Any) -> C:
    """Return a spring with play: no force within half the gap on either side, linear beyond.

    Parameters
    ----------
    stiffness
        N/m, beyond the gap.
    gap
        The whole free travel, m.
    **options
        ``initial``, the initial displacement.
    """
    values = {"stiffness": (stiffness, FINITE), "gap": (gap, NOT_NEGATIVE)}
    return C(_dead_zone, **_checked("dead_zone_spring", values), **options)


def _dead_zone(displacement: Any, stiffness: Any, gap: Any) -> Any:
    import sympy as sp

    return stiffness * (sp.Max(displacement - gap / 2, 0) + sp.Min(displacement + gap / 2, 0))


@describable("part")
def cubic_spring(stiffness: Any, cubic: Any, **options: Any) -> C:
    """Return a spring that hardens (cubic > 0) or softens: stiffness x + cubic x³.

    Parameters
    ----------
    stiffness
        N/m at the origin; negative, with a positive cubic term, for a double well.
    cubic
        N/m³.
    **options
        ``initial``, the initial displacement.
    """
    values = {"stiffness": (stiffness, FINITE), "cubic": (cubic, FINITE)}
    return C(_cubic, **_checked("cubic_spring", values), **options)


def _cubic(displacement: Any, stiffness: Any, cubic: Any) -> Any:
    return stiffness * displacement + cubic * displacement**3


@describable("part")
def preloaded_spring(stiffness: Any, preload: Any, width: Any = 1e-4, **options: Any) -> C:
    """Return a centring spring that moves only beyond a preload: preload tanh(x/width) + stiffness x.

    Parameters
    ----------
    stiffness
        N/m beyond the preload.
    preload
        Force needed to leave the centre, N.
    width
        Displacement over which the preload builds up, m.
    **options
        ``initial``, the initial displacement.
    """
    values = {
        "stiffness": (stiffness, FINITE),
        "preload": (preload, NOT_NEGATIVE),
        "width": (width, POSITIVE),
    }
    return C(_preloaded, **_checked("preloaded_spring", values), **options)


def _preloaded(displacement: Any, stiffness: Any, preload: Any, width: Any) -> Any:
    import sympy as sp

    return preload * sp.tanh(displacement / width) + stiffness * displacement


def _checked(kind: str, given: Mapping[str, tuple[Any, Range]]) -> dict[str, Any]:
    """Return a law's parameters, checked in the name of the function that was called, and their ranges."""
    ranges = {name: within & Range(units=_UNITS.get(name, ())) for name, (_, within) in given.items()}
    values = {
        name: check_number(v, f"{kind}({name})", ranges[name], units=ranges[name].units)
        for name, (v, _) in given.items()
    }
    return {**values, "ranges": ranges}
