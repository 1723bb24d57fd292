"""The virtual junction of Gawthrop 2005."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from bondloop.control.base import Controller, Design, displacement_state
from bondloop.errors import InputError, SolveError
from bondloop.program.expr import Expr, Var
from bondloop.program.inversion import Inverse, invert
from bondloop.substructure.half import NumericalHalf, numerical_half
from bondloop.transfer.base import Transfer, transfer_system

if TYPE_CHECKING:
    from bondloop.bondgraph import Model
    from bondloop.program.system import System

__all__ = ["VirtualJunction"]


@dataclass(frozen=True)
class VirtualJunction(Controller):
    """Cancels the transfer system by its inverse: F_T = F_P + T^-1 v_N (Gawthrop 2005, eq. 4).

    The inverse is derived from the model of the transfer system, whatever it is: a bond graph or a state
    space, linear or not, one interface or several. It is joined to the numerical half, whose own equations
    give the accelerations that the inverse needs; so nothing is differentiated numerically.

    Parameters
    ----------
    model
        Model of the transfer system, one per interface (a single one, or a list). It need not be the rig's
        own: that is how errors of the model are studied.
    """

    inverts: ClassVar[bool] = True
    model: Any

    def models(self) -> list[Any]:
        """Return the transfer systems' models as a list."""
        return list(self.model) if isinstance(self.model, (list, tuple)) else [self.model]

    def augment(self, numerical: Model) -> System:
        """Return the augmented numerical substructure: numerical half and virtual junction as one system.

        Its inputs are the measured forces, then the excitations; its outputs the commands.
        """
        return self.design(numerical_half(numerical), self.models()).system

    def design(self, half: NumericalHalf, actuators: Sequence[Any]) -> Design:  # noqa: ARG002 - has its own
        """Join the inverse of the transfer systems' models to the numerical half."""
        models = self.models()
        if len(models) != len(half.flows):
            raise InputError(
                f"the virtual junction has {len(models)} transfer system models, but the cut has "
                f"{len(half.flows)} interfaces; give one for each"
            )
        several = len(models) > 1
        transfers = [
            transfer_system(
                m, f"controller.transfer[{i}]." if several else "controller.transfer.", to_invert=True
            )
            for i, m in enumerate(models)
        ]
        _check_zero_dynamics(transfers)
        plant = _side_by_side(transfers)
        links: dict[Var, Expr] = {
            t.load: effort if sign > 0 else -effort
            for t, effort, sign in zip(transfers, half.efforts, half.signs, strict=True)
        }
        inverse: Inverse = invert(
            plant,
            [t.command for t in transfers],
            [t.velocity for t in transfers],
            half.flows,
            half.system,
            links,
            measured=half.efforts,
        )
        states = dict(inverse.states)
        extra: dict[Var, Expr] = {}
        desired = []
        known = {
            **states,
            **{s: inverse.definitions.get(r, r) if isinstance(r, Var) else r for s, r in states.items()},
        }
        for i, (flow, t) in enumerate(zip(half.flows, transfers, strict=True)):
            index = f"[{i}]" if several else ""
            z, new = displacement_state({**known, **extra}, flow, f"controller.desired{index}.displacement")
            if new:  # the transfer system's own position follows the imposed velocity
                z, new = displacement_state({**states, **extra}, t.velocity, z.name)
            extra.update(new)
            desired.append(z)
        outputs: dict[str, Expr] = {
            (f"command[{i}]" if several else "command"): t.command for i, t in enumerate(transfers)
        }
        system = half.system.replaced(
            name="computer",
            states={**states, **extra},
            inputs=[*half.efforts, *half.excitations],
            outputs=outputs,
            parameters={**half.system.parameters_by_var, **plant.parameters_by_var},
            definitions=inverse.definitions,
            tears=[*half.system.tears, *plant.tears],
            initial={
                k: v for k, v in {**half.system.initial_by_var, **plant.initial_by_var}.items() if k in states
            },
            dots={s: d for s, d in half.system.dots.items() if s in states},
            input_rates=inverse.input_rates,
            dependent=[*half.system.dependent, *(s.name for s in inverse.dependent)],
            iterations=max(half.system.iterations, plant.iterations),
        )
        return Design(system, tuple(t.command for t in transfers), half.efforts, tuple(desired), half.flows)

    def describe(self) -> dict[str, Any]:
        """Describe it for run files."""
        return {
            "controller": "VirtualJunction",
            "models": [getattr(m, "_name", type(m).__name__) for m in self.models()],
        }


def _side_by_side(transfers: Sequence[Transfer]) -> System:
    from bondloop.program.compose import connect

    return connect("transfer", [t.system for t in transfers], {}, {})


def _check_zero_dynamics(transfers: Sequence[Transfer]) -> None:
    """Refuse a transfer system whose inverse would be unstable (Gawthrop 2005, assumption 4)."""
    for t in transfers:
        if None in t.system.parameters_by_var.values():
            continue  # symbols without values: nothing to check yet
        space = t.system.linearise()
        zeros = space.zeros(space.outputs[0], t.command.name)
        scale = max(1.0, float(abs(space.poles()).max(initial=0.0)))
        bad = [z for z in zeros if z.real > 1e-7 * scale]
        if bad:
            raise SolveError(
                f"{t.system.name} has unstable zero dynamics (zero at {bad[0]:.4g} rad/s), so its inverse "
                "would "
                "grow without bound and a virtual junction cannot be used (Gawthrop 2005, assumption 4)"
            )
