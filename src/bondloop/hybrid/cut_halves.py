"""Halves that come from one cut: the structure and its bonds stand for both in a description.

The rig of a description then has no entry ``physical``, and a complete model run beside the test none that
says which::

    {"test": "HybridTest", "structure": {...}, "cut": ["m2.right >> m3.left"], "rig": {...}, ...}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bondloop.engine.data import origin_of

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.engine.data import Origin
    from bondloop.rigs import Emulated


def fold_halves(arguments: dict[str, Any]) -> None:
    """Put the structure and its cut in the place of the halves.

    Parameters
    ----------
    arguments
        Of the test's constructor, by name; changed.
    """
    origin = origin_of(arguments["numerical"])
    whole: Model | None = None
    rig: Emulated = arguments["rig"]
    if origin is not None and origin.kind.name == "numerical_half":
        whole = origin.arguments["of"]
        del arguments["numerical"]
        rest = {"structure": whole, "cut": _cut(origin), **arguments}
        arguments.clear()
        arguments.update(rest)
        own = origin_of(rig.physical)
        if own is not None and own.kind.name == "physical_half" and own.arguments == origin.arguments:
            arguments["rig"] = {k: v for k, v in rig.describe().items() if k != "physical"}
    reference = arguments.get("reference")
    if reference is not None:
        model, outputs = reference if isinstance(reference, tuple) else (reference, None)
        arguments["reference"] = {
            **({} if model is whole else {"of": model}),
            **({} if outputs is None else {"outputs": list(outputs)}),
        }


def _cut(origin: Origin) -> list[str] | dict[str, object]:
    bonds, physical = list(origin.arguments["cut"]), origin.arguments["physical"]
    return bonds if physical is None else {"bonds": bonds, "physical": physical}


def cut_structure(numerical: Model) -> Model:
    """Return the structure from which a numerical half was cut; where it was not, the half itself.

    Parameters
    ----------
    numerical
        The numerical half of a test.
    """
    origin = origin_of(numerical)
    whole: Model = numerical if origin is None or "of" not in origin.arguments else origin.arguments["of"]
    return whole
