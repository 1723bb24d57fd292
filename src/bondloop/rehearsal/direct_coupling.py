"""Computer and rig joined directly, without sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bondloop.engine.ir import Const, Expr, Var

if TYPE_CHECKING:
    from bondloop.control import Design
    from bondloop.rigs import RigSystem


def loop_links(design: Design, rig: RigSystem, *, feedback: bool = True) -> dict[Var, Expr]:
    """Return what drives what when computer and rig are joined directly, without sampling."""
    links: dict[Var, Expr] = dict(zip(rig.commands, design.commands, strict=True))
    for effort, force in zip(design.efforts, rig.forces, strict=True):
        links[effort] = force if feedback else Const(0.0)
    links.update(zip(design.displacements, rig.displacements, strict=False))
    links.update(zip(design.velocities, rig.velocities, strict=False))
    return links
