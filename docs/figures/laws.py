"""Loops of every device of the package: the gallery of docs/laws.md.

Run: python docs/figures/laws.py [FILE]
"""

# ruff: noqa: INP001 - a script, no part of a package

import sys

from matplotlib.figure import Figure

from bondloop import devices as d
from bondloop.devices.device import draw_loops

GALLERY = (
    ("Bilinear, kinematic", d.Bilinear()),
    ("Bilinear, half isotropic", d.Bilinear(hardening=0.1, isotropic=0.5)),
    ("Multilinear", d.Multilinear()),
    ("GiuffreMenegottoPinto", d.GiuffreMenegottoPinto()),
    ("RambergOsgood", d.RambergOsgood()),
    ("BoucWen", d.BoucWen(exponent=2)),
    ("BoucWen that degrades", d.BoucWen(strength_loss=2e-2, stiffness_loss=4e-2)),
    ("BaberNoori", d.BaberNoori(strength_loss=2e-3, stiffness_loss=2e-3, slip_rate=0.05)),
    ("BucklingRestrainedBrace", d.BucklingRestrainedBrace()),
    ("LeadRubberBearing", d.LeadRubberBearing()),
    ("ElastomericBearing", d.ElastomericBearing()),
    ("FrictionPendulum", d.FrictionPendulum()),
    ("TripleFrictionPendulum", d.TripleFrictionPendulum()),
    ("WireRope", d.WireRope(asymmetry=8)),
    ("Hook", d.Hook(hardening=0.05)),
    ("Gap", d.Gap()),
    ("KelvinVoigt", d.KelvinVoigt()),
    ("Maxwell", d.Maxwell()),
    ("PowerDamper", d.PowerDamper(exponent=0.3)),
    ("FluidViscousDamper", d.FluidViscousDamper(stiffness=4e5)),
    ("TunedMass, 0.8 Hz", d.TunedMass(100, 2500, 150)),
    ("TunedLiquidColumn", d.TunedLiquidColumn()),
    ("Inerter", d.Inerter(friction=400, damping=2e4, stiffness=2e5)),
    ("MRDamper, 1 A", d.MRDamper(current=1)),
)

if __name__ == "__main__":
    columns = 4
    rows = -(-len(GALLERY) // columns)
    figure = Figure(figsize=(13.5, 2.7 * rows), layout="constrained")
    places = figure.subplots(rows, columns).flat
    for (name, device), axes in zip(GALLERY, places, strict=False):
        draw_loops(axes, *device.loops())
        axes.set_title(name, fontsize=10)
        axes.tick_params(labelsize=8)
        axes.xaxis.label.set_size(8)
        axes.yaxis.label.set_size(8)
    for axes in figure.axes[len(GALLERY) :]:
        axes.axis("off")
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "docs/figures/laws.png", dpi=80)
