"""Drawn networks of ideal diodes, coils, capacitors and resistors; and an independent computation of them.

That one knows no modes: node equations with diodes of a small and a large resistance, an implicit Euler step
(companion models of coil and capacitor), and Murty's least-index rule for the diodes, which ends since with
resistances the problem has a P-matrix.
"""

import numpy as np

from bondloop.bondgraph import C, Diode, I, Model, One, R, Se, Zero

ON, OFF = 1e5, 1e-8
"""Conductances of a diode that stands for an ideal one."""


def network(nodes, branches):
    """Build a network.

    The first node is ground. A branch is (kind, tail, head, value) with kind 'D', 'L', 'C', 'R', 'LR' (a coil
    with a resistance of 0.3) or 'V' (the source, with a resistance); power goes from tail to head.
    """
    m = Model("network")
    m.node, m.arm = [Zero() for _ in range(nodes)], [One() for _ in branches]
    Se(effort=0.0) >> m.node[0]
    m.diode = [Diode() for kind, *_ in branches if kind == "D"]
    m.coil = [I(inductance=value) for kind, _, _, value in branches if kind in ("L", "LR")]
    m.store = [C(capacitance=value) for kind, _, _, value in branches if kind == "C"]
    diodes, coils, stores = iter(m.diode), iter(m.coil), iter(m.store)
    for (kind, tail, head, value), arm in zip(branches, m.arm, strict=True):
        m.node[tail] >> arm >> m.node[head]
        if kind == "D":
            arm >> next(diodes)
        elif kind == "C":
            arm >> next(stores)
        elif kind in ("L", "LR"):
            arm >> next(coils)
        if kind in ("R", "V"):
            arm >> R(resistance=value)
        elif kind == "LR":
            arm >> R(resistance=0.3)
        if kind == "V":
            Se("v") >> arm
    return m


def contents(nodes, branches, voltage, duration, steps):
    """Return the momenta of the coils, then the charges of the capacitors, at the end, from rest."""
    h = duration / steps
    incidence = np.zeros((nodes, len(branches)))
    for k, (_, tail, head, _) in enumerate(branches):
        incidence[tail, k] += 1.0
        incidence[head, k] -= 1.0
    A = incidence[1:]
    kinds = np.array([kind for kind, *_ in branches])
    values = np.array([value for *_, value in branches])
    diode = kinds == "D"
    coil, store, source = np.isin(kinds, ["L", "LR"]), kinds == "C", kinds == "V"
    g = 1.0 / np.where(coil, values / h + 0.3 * (kinds == "LR"), np.where(store, h / values, values))
    current, held = np.zeros(len(branches)), np.zeros(len(branches))  # of coils; voltages of capacitors
    on = np.zeros(len(branches), dtype=bool)
    inverses = {}
    for k in range(1, steps + 1):
        # Every branch: i = g (u + e), with e what it remembers or is fed by.
        e = np.where(coil, values / h * current, 0.0) - np.where(store, held, 0.0)
        e[source] = voltage(k * h)
        for turn in range(200):
            key = on.tobytes()
            if key not in inverses:
                full = np.where(diode, np.where(on, ON, OFF), g)
                inverses[key] = full, np.linalg.inv((A * full) @ A.T)
            full, inverse = inverses[key]
            u = A.T @ (inverse @ (-A @ (full * e)))
            wrong = diode & (on != (u > 0))
            if not wrong.any():
                break
            on = on ^ (wrong if turn < 4 else np.arange(len(on)) == wrong.argmax())
        i = full * (u + e)
        current, held = np.where(coil, i, 0.0), np.where(store, u, 0.0)
    return np.array([*(values * current)[coil], *(values * held)[store]])
