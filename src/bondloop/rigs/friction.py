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

from typing import Any

from bondloop.bondgraph import C, R
from bondloop.bondgraph.laws import check_number
from bondloop.errors import InputError

__all__ = ["coulomb", "cubic_spring", "dead_zone_spring", "preloaded_spring", "stribeck"]


def coulomb(force: Any, width: Any = 1e-3) -> R:
    """Return dry friction: force tanh(flow/width).

    Parameters
    ----------
    force
        Friction force, N; not negative.
    width
        Velocity over which the sign changes, m/s: 76 % of the force at it, 99.5 % at three times it.

    Examples
    --------
    >>> from bondloop.bondgraph import Model, One, Se, I
    >>> slider = Model("slider")
    >>> slider.push, slider.v, slider.mass, slider.friction = Se("F"), One(), I(mass=1.0), coulomb("3 N")
    >>> _ = slider.push >> slider.v >> [slider.mass, slider.friction]
    >>> sorted(p for p in slider.compile().parameters if "friction" in p)
    ['friction.force', 'friction.width']
    """
    return R(
        _coulomb, force=_at_least_zero(force, "coulomb(force)"), width=_above_zero(width, "coulomb(width)")
    )


def _coulomb(flow: Any, force: Any, width: Any) -> Any:
    import sympy as sp

    return force * sp.tanh(flow / width)


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
    values = {
        "coulomb": _at_least_zero(coulomb, "stribeck(coulomb)"),
        "static": _at_least_zero(static, "stribeck(static)"),
        "velocity": _above_zero(velocity, "stribeck(velocity)"),
        "viscous": _at_least_zero(viscous, "stribeck(viscous)"),
        "width": _above_zero(width, "stribeck(width)"),
    }
    for small, large in (("coulomb", "static"), ("width", "velocity")):
        a, b = values[small], values[large]
        if isinstance(a, float) and isinstance(b, float) and a > b:
            raise InputError(f"stribeck: expected {small} at most {large}; found {a:g} and {b:g}")
    return R(_stribeck, **values)


def _stribeck(flow: Any, coulomb: Any, static: Any, velocity: Any, viscous: Any, width: Any) -> Any:
    import sympy as sp

    excess = (static - coulomb) * sp.exp(-((flow / velocity) ** 2))
    return (coulomb + excess) * sp.tanh(flow / width) + viscous * flow


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
    return C(
        _dead_zone,
        stiffness=check_number(stiffness, "dead_zone_spring(stiffness)"),
        gap=_at_least_zero(gap, "dead_zone_spring(gap)"),
        **options,
    )


def _dead_zone(displacement: Any, stiffness: Any, gap: Any) -> Any:
    import sympy as sp

    return stiffness * (sp.Max(displacement - gap / 2, 0) + sp.Min(displacement + gap / 2, 0))


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
    return C(
        _cubic,
        stiffness=check_number(stiffness, "cubic_spring(stiffness)"),
        cubic=check_number(cubic, "cubic_spring(cubic)"),
        **options,
    )


def _cubic(displacement: Any, stiffness: Any, cubic: Any) -> Any:
    return stiffness * displacement + cubic * displacement**3


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
    return C(
        _preloaded,
        stiffness=check_number(stiffness, "preloaded_spring(stiffness)"),
        preload=_at_least_zero(preload, "preloaded_spring(preload)"),
        width=_above_zero(width, "preloaded_spring(width)"),
        **options,
    )


def _preloaded(displacement: Any, stiffness: Any, preload: Any, width: Any) -> Any:
    import sympy as sp

    return preload * sp.tanh(displacement / width) + stiffness * displacement


def _at_least_zero(value: Any, what: str) -> Any:
    result = check_number(value, what)
    if isinstance(result, float) and result < 0:
        raise InputError(f"{what}: expected a number at least 0; found {result:g}")
    return result


def _above_zero(value: Any, what: str) -> Any:
    result = check_number(value, what)
    if isinstance(result, float) and result <= 0:
        raise InputError(f"{what}: expected a number above 0; found {result:g}")
    return result
