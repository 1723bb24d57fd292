"""One mass on a spring to a moving wall, and a specimen beyond a cut: a small structure for tests."""

from bondloop.bondgraph import C, I, Model, One, Port, R, Sf, Zero

__all__ = ["halves"]


def halves(name, specimen, *, stiffness=5e3, damping=12.0):
    """Return the numerical half (2 kg, moved by ``v_wall``) and the specimen of the given parts, by name."""
    whole = Model(name)
    whole.wall, whole.shear, whole.v, whole.tap = Sf("v_wall"), Zero(), One(), Model()
    whole.spring, whole.mass, whole.damper = C(stiffness=stiffness), I(mass=2.0), R(damping=damping)
    whole.wall >> whole.shear >> whole.v
    whole.shear >> whole.spring
    whole.tap.right, whole.tap.u = Port(), One()
    whole.tap.u >> whole.tap.right
    whole.v >> [whole.mass, whole.damper, whole.tap.u]
    whole.specimen = Model()
    whole.specimen.left, whole.specimen.w = Port(), One()
    whole.specimen.left >> whole.specimen.w
    for word, part in specimen.items():
        setattr(whole.specimen, word, part)
        whole.specimen.w >> part
    whole.tap.right >> whole.specimen.left
    return whole.cut("tap.right >> specimen.left")
