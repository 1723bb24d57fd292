"""Devices with drawn parameters, and histories of displacements."""

import math

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from bondloop import devices
from bondloop.devices import Device, Multilinear
from bondloop.errors import InputError

OFFERED = [getattr(devices, name) for name in devices.__all__]
ALL = sorted(
    (c for c in OFFERED if isinstance(c, type) and issubclass(c, Device) and c is not Device),
    key=lambda c: c.__name__,
)
"""Every device of the package."""


@st.composite
def drawn(draw, kind):
    """Draw a device: each parameter within its range, at 0.3 to 3 times its default."""
    if kind is Multilinear:
        count = draw(st.integers(2, 5))
        lengths = [draw(st.floats(0.002, 0.02)) for _ in range(count)]
        slopes = sorted({round(draw(st.floats(0.01, 1.0)), 6) for _ in range(count)}, reverse=True)
        assume(len(slopes) == count)
        x = np.cumsum(lengths)
        f = np.cumsum(2e6 * np.array(slopes) * lengths)
        return Multilinear(
            tuple(x.tolist()), tuple(f.tolist()), draw(st.sampled_from(["kinematic", "isotropic"]))
        )
    values = {}
    for name, within in kind.parameter_ranges().items():
        default = getattr(kind, name)
        value = (
            (default or 1.0) * 10 ** draw(st.floats(-0.5, 0.5))
            if default
            else draw(st.sampled_from([0.0, 0.1]))
        )
        for bound in (within.least, within.above):
            if bound is not None and value <= bound:
                value = default
        if within.most is not None:
            value = min(value, within.most)
        values[name] = value if math.isfinite(value) else default
    try:
        return kind(**values)
    except InputError:
        assume(False)


def walk(seed, stroke, samples=120):
    """Return a random walk about zero within a stroke or so, from zero."""
    steps = np.random.default_rng(seed).normal(0, 1, samples)
    x = np.concatenate([[0.0], np.cumsum(steps)])
    return x * stroke / np.max(np.abs(x))


def along(x, pieces):
    """Return a history with so many equal pieces in every step."""
    return np.interp(np.arange((len(x) - 1) * pieces + 1) / pieces, np.arange(len(x)), x)
