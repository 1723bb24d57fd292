"""Models with fields from a potential, in SI units, with meters for heat and work."""

import sympy as sp

from bondloop.bondgraph import CField, I, ICField, Input, Model, Multiport, One, R, RField, Se

EPSILON_0 = 8.854e-12


class Damper(Multiport):
    """A linear damper that counts the heat it makes."""

    ports = ("p",)
    states = ("heat",)

    def equations(self, p, heat, c):
        return {p.effort: c * p.flow, heat.rate: c * p.flow**2}


class Supply(Multiport):
    """A source of effort that counts the work it does."""

    ports = ("p",)
    states = ("work",)
    inputs = ("u",)
    fixed = ("p",)

    def equations(self, p, work, u):
        return {p.effort: u, work.rate: -u * p.flow}


def driven(model, junction, name, meters):
    """Bond a source with an input of that name to a junction, with a meter for its work if wished."""
    supply = Supply() if meters else Se(name)
    setattr(model, f"supply_{name}", supply)
    if meters:
        Input(name) >> supply
    supply >> junction


def damper(c, meters):
    """Return a damper, with a meter for its heat if wished (a meter never comes to rest in a vibration)."""
    return Damper(c=c) if meters else R(damping=c)


# Condenser microphone: plate area, gap, stiffness of the membrane, its mass.
MIC = {"eA": EPSILON_0 * 1e-4, "d": 2e-5, "k": 500.0}


def microphone(resistance=1e7, mass=1e-5, c=0.02, meters=False):
    """A capacitor with one plate on a spring; a positive displacement of the membrane closes the gap."""
    model = Model("microphone")
    model.i, model.v = One(), One()
    model.mic = CField(
        energy=lambda plates, membrane, eA, d, k: plates**2 * (d - membrane) / (2 * eA) + k * membrane**2 / 2,
        **MIC,
    )
    driven(model, model.i, "V", meters)
    model.i >> model.mic.plates
    if resistance:
        model.r = damper(resistance, meters)
        model.i >> model.r
    model.m, model.c = I(mass=mass), damper(c, meters)
    model.v >> [model.mic.membrane, model.m, model.c]
    return model


RELAY = {"a": 2e-6, "b": 1e-4, "k": 800.0, "x0": 1e-3}


def relay(form="coenergy", meters=False):
    """A coil with L = a / (b + gap), its armature on a spring that holds the gap open at x0."""
    model = Model("relay")
    model.i, model.v = One(), One()
    if form == "coenergy":
        model.coil = ICField(
            coenergy=lambda coil, gap, a, b, k, x0: coil**2 * a / (2 * (b + gap)) - k * (gap - x0) ** 2 / 2,
            momentum="coil", initial={"gap": RELAY["x0"]}, **RELAY,
        )  # fmt: skip
    else:
        model.coil = ICField(
            energy=lambda coil, gap, a, b, k, x0: coil**2 * (b + gap) / (2 * a) + k * (gap - x0) ** 2 / 2,
            momentum="coil", initial={"gap": RELAY["x0"]}, **RELAY,
        )  # fmt: skip
    driven(model, model.i, "V", meters)
    model.r = damper(5.0, meters)
    model.i >> [model.r, model.coil.coil]
    model.m, model.c = I(mass=0.01), damper(2.0, meters)
    model.v >> [model.coil.gap, model.m, model.c]
    return model


# Dielectric elastomer: shear modulus, length and thickness undeformed, permittivity.
ELASTOMER = {"mu": 1e5, "L": 0.05, "H": 1e-3, "eps": 4.5 * EPSILON_0}


def elastomer_energy(charge, u, w, mu, L, H, eps):
    """Neo-Hookean sheet, incompressible, of stretched lengths L + u and L + w, with charge on its faces."""
    one, two = 1 + u / L, 1 + w / L
    elastic = mu * L * L * H / 2 * (one**2 + two**2 + 1 / (one * two) ** 2 - 3)
    capacitance = eps * L * L * (one * two) ** 2 / H
    return elastic + charge**2 / (2 * capacitance)


def elastomer(resistance=1e6, meters=False):
    model = Model("elastomer")
    model.i, model.u, model.w = One(), One(), One()
    model.sheet = CField(energy=elastomer_energy, **ELASTOMER)
    driven(model, model.i, "V", meters)
    model.r, model.cu, model.cw = damper(resistance, meters), damper(5.0, meters), damper(5.0, meters)
    model.i >> [model.r, model.sheet.charge]
    model.mu, model.mw = I(mass=0.05), I(mass=0.08)
    model.u >> [model.sheet.u, model.mu, model.cu]
    model.w >> [model.sheet.w, model.mw, model.cw]
    return model


TRUSS = {"k": 4e4, "a": 0.2, "h": 0.06}


def truss_energy(x, y, k, a, h):
    """Two springs from (-a, 0) and (a, 0) to a node that starts at (0, h): displaced by (x, -y)."""
    rest = sp.sqrt(a**2 + h**2)
    left = sp.sqrt((a + x) ** 2 + (h - y) ** 2) - rest
    right = sp.sqrt((a - x) ** 2 + (h - y) ** 2) - rest
    return k * (left**2 + right**2) / 2


def truss(meters=False):
    model = Model("truss")
    model.vx, model.vy = One(), One()
    model.springs = CField(energy=truss_energy, **TRUSS)
    driven(model, model.vx, "Fx", meters)
    driven(model, model.vy, "Fy", meters)
    model.loss = RField(
        dissipation=lambda x, y, c, g: c * (x**2 + x * y + y**2) / 2 + g * y**4 / 4, c=8.0, g=3.0
    )
    model.mx, model.my = I(mass=1.5), I(mass=1.5)
    model.vx >> [model.springs.x, model.mx, model.loss.x]
    model.vy >> [model.springs.y, model.my, model.loss.y]
    return model
