"""All schemes for structures, and the way to find one by any of its names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.errors import InputError, unknown_name
from bondloop.integrate.structural.alpha_os import AlphaOS
from bondloop.integrate.structural.central_difference import CentralDifference
from bondloop.integrate.structural.chen_ricles import ChenRicles
from bondloop.integrate.structural.implicit import HHTAlpha, NewmarkImplicit
from bondloop.integrate.structural.kr_alpha import KRAlpha
from bondloop.integrate.structural.newmark_explicit import NewmarkExplicit
from bondloop.integrate.structural.rosenbrock import Rosenbrock

if TYPE_CHECKING:
    from bondloop.integrate.structural.base import Scheme


SCHEMES: tuple[type[Scheme], ...] = (
    CentralDifference,
    NewmarkExplicit,
    AlphaOS,
    HHTAlpha,
    NewmarkImplicit,
    ChenRicles,
    KRAlpha,
    Rosenbrock,
)
"""Every scheme that `find_scheme` knows."""


def find_scheme(name: str) -> type[Scheme]:
    """Return a scheme by its name here, in OpenSees or in the literature.

    Parameters
    ----------
    name
        Of the class, in OpenSees, or another that the literature has; case does not matter.

    Examples
    --------
    >>> find_scheme("KRAlphaExplicit").__name__, find_scheme("cr").__name__
    ('KRAlpha', 'ChenRicles')
    >>> find_scheme("AlphaOSS")
    Traceback (most recent call last):
    bondloop.errors.InputError: unknown scheme 'AlphaOSS'; did you mean 'AlphaOS' or ...
    """
    known: dict[str, type[Scheme]] = {}
    for scheme in SCHEMES:
        for spelt in (scheme.__name__, scheme.opensees, *scheme.aliases):
            if spelt:
                known.setdefault(spelt, scheme)
    wanted = {spelt.lower(): scheme for spelt, scheme in known.items()}
    if name.lower() not in wanted:
        raise InputError(unknown_name("scheme", name, known))
    return wanted[name.lower()]
