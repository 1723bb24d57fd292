"""Systems made of systems: renaming and connecting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from bondloop.engine.data import checked_values
from bondloop.engine.ir import (
    Const,
    ConstantMatrix,
    Expr,
    Interface,
    MatrixRow,
    Program,
    Quantity,
    Renaming,
    SystemData,
    SystemPart,
    Var,
)
from bondloop.engine.passes.tick_numbers import placed
from bondloop.errors import InputError, UnknownNameError, unknown_name

if TYPE_CHECKING:
    from scipy import sparse

    from bondloop.engine.ir import Expr, StateSpace

    Pair: TypeAlias = tuple[sparse.csr_array[np.float64], sparse.csr_array[np.float64]]


ENTRIES = 64
"""Most entries of matrices that become parameters of their own."""


def matrix_system(  # noqa: PLR0913 - four matrices, and what they mean
    A: Any,
    B: Any,
    C: Any,
    D: Any,
    *,
    states: list[str] | None = None,
    inputs: list[str] | None = None,
    outputs: list[str] | None = None,
    units: Mapping[str, str] | None = None,
    name: str = "system",
) -> SystemData:
    """Return a system from matrices; arguments as of `bondloop.engine.system.system_from_matrices`."""
    from scipy import sparse

    A, B, C, D = (sparse.csr_array(M if hasattr(M, "tocsr") else np.atleast_2d(M)) for M in (A, B, C, D))
    n, m, k = A.shape[0], B.shape[1], C.shape[0]
    if A.shape != (n, n) or B.shape[0] != n or C.shape[1] != n or D.shape != (k, m):
        raise InputError(
            f"{name}: the shapes A {A.shape}, B {B.shape}, C {C.shape}, D {D.shape} do not fit together"
        )
    y = outputs or [f"y[{i}]" for i in range(k)]
    known = [*(states or [f"x[{i}]" for i in range(n)]), *(inputs or [f"u[{i}]" for i in range(m)])]
    for word in units or {}:
        if word not in (*known, *y):
            raise InputError(unknown_name("variable", word, (*known, *y), where=f"units of {name}"))
    measured = {word: Quantity(word, unit) for word, unit in (units or {}).items()}
    variables = [Var(word, quantity=measured.get(word)) for word in known]
    x, u = variables[:n], variables[n:]
    parameters: dict[Var, float | None] = {}

    def rows(
        left: sparse.csr_array[np.float64],
        left_name: str,
        right: sparse.csr_array[np.float64],
        right_name: str,
    ) -> list[Expr]:
        result = []
        for i in range(left.shape[0]):
            total: Expr = Const(0.0)
            for matrix, letter, columns in ((left, left_name, x), (right, right_name, u)):
                for j in range(matrix.indptr[i], matrix.indptr[i + 1]):
                    column, value = int(matrix.indices[j]), float(matrix.data[j])
                    if value:
                        p = Var(f"{letter}[{i},{column}]")
                        parameters[p] = value
                        total = total + p * columns[column]
            result.append(total)
        return result

    if A.nnz + B.nnz + C.nnz + D.nnz > ENTRIES:
        return _of_products(name, ((A, B), (C, D)), x, u, y, measured)
    rates, outs = rows(A, "A", B, "B"), rows(C, "C", D, "D")
    changes, results = dict(zip(x, rates, strict=True)), dict(zip(y, outs, strict=True))
    return SystemData(name, Interface(changes, u, results, parameters, quantities=measured))


def _of_products(
    name: str,
    blocks: tuple[Pair, Pair],
    x: list[Var],
    u: list[Var],
    y: list[str],
    measured: Mapping[str, Quantity],
) -> SystemData:
    """Return the system whose rates and outputs are the rows of two products."""
    from scipy import sparse

    rates = [Var(f"{v.name}.rate") for v in x]
    outputs = [Var(f"{path}.value") for path in y]
    definitions: dict[Var, Expr] = {}
    for letters, targets, pair in (("A, B", rates, blocks[0]), ("C, D", outputs, blocks[1])):
        matrix = ConstantMatrix(sparse.csr_array(sparse.hstack(pair)), f"[{letters}]")
        definitions.update({v: MatrixRow(matrix, i, (*x, *u)) for i, v in enumerate(targets)})
    changes, results = dict(zip(x, rates, strict=True)), dict(zip(y, outputs, strict=True))
    return SystemData(name, Interface(changes, u, results, quantities=measured), Program(definitions))


def space_system(space: StateSpace, name: str = "system") -> SystemData:
    """Return the system of a named state space.

    Parameters
    ----------
    space
        Its matrices, in continuous time.
    name
        Of the system.
    """
    s = space.explicit()
    return matrix_system(
        s.A, s.B, s.C, s.D, states=list(s.states), inputs=list(s.inputs), outputs=list(s.outputs), name=name
    )


def control_system(plant: Any, name: str | None = None) -> SystemData:
    """Return the system of a continuous-time python-control object, with its names.

    Parameters
    ----------
    plant
        A ``StateSpace`` or ``TransferFunction``. One with a sample period is refused.
    name
        Of the system; by default the plant's own.
    """
    try:
        import control
    except ImportError:
        raise InputError(
            "from_control() needs the package 'control': pip install bondloop[control]"
        ) from None
    space = plant if isinstance(plant, control.StateSpace) else control.ss(plant)
    if space.dt not in (0, None):
        raise InputError(f"expected a continuous-time system (dt = 0), found dt = {space.dt}")
    paths = getattr(plant, "path_names", {})  # what to_control() had to rename
    inputs, outputs = (
        [paths.get(n, n) for n in labels] for labels in (space.input_labels, space.output_labels)
    )
    return matrix_system(
        space.A, space.B, space.C, space.D, states=list(space.state_labels), inputs=inputs, outputs=outputs,
        name=name or space.name or "system",
    )  # fmt: skip


S = TypeVar("S", bound=SystemData)
P = TypeVar("P", bound=SystemPart)


class _PrefixError(InputError):
    """A path that does not begin as the names of a part do, or of several."""

    def __init__(self, path: str, prefixes: tuple[str, ...]) -> None:
        self.prefixes = prefixes
        super().__init__(path, prefixes)

    def __str__(self) -> str:
        begin = " or ".join(f"'{p}'" for p in self.prefixes)
        part = "this part" if len(self.prefixes) == 1 else "these parts"
        return f"unknown variable '{self.args[0]}'; the names of {part} begin with {begin}"


def _nearest(path: str, errors: Sequence[InputError]) -> InputError:
    """Return what the part says of a path that has the names most like it."""
    inside = [e for e in errors if isinstance(e, UnknownNameError)]
    if inside:
        return max(inside, key=lambda e: max((_shared(path, name) for name in e.known), default=0))
    others = [e for e in errors if not isinstance(e, _PrefixError)]
    if others:
        return others[-1]
    prefixes = (p for e in errors if isinstance(e, _PrefixError) for p in e.prefixes)
    return _PrefixError(path, tuple(dict.fromkeys(prefixes)))


def _shared(path: str, name: str) -> int:
    """Return by how many characters two names begin alike."""
    pairs = zip(path, name, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(path), len(name)))


def prefixed(system: S, prefix: str) -> S:
    """Return a copy with every path name prefixed: ``rig.`` before ``m3.v.flow``."""
    if not prefix:
        return system
    rules = [rule for part in system.switching for rule in part.rules]
    rules += [held.rule for held in system.modes.held]
    renaming = Renaming(
        prefix,
        [
            *system.parameters_by_var,
            *system.state_vars,
            *system.input_vars,
            *system.input_rates.values(),
            *system.dots.values(),
            *system.definitions,
            *(v for part in system.switching for v in part.own_vars),
            *(v for rule in rules for v in (rule.mode, rule.rebound) if v is not None),
        ],
    )

    def lookup(path: str) -> Expr:
        if not path.startswith(prefix):
            raise _PrefixError(path, (prefix,))
        try:
            return renaming.expression(system.expression(path[len(prefix) :]))
        except UnknownNameError as error:
            raise error.within(prefix) from None

    renamed = renaming.of(system)
    return replace(renamed, annotations=replace(renamed.annotations, lookup=lookup))


def with_values(system: S, values: Mapping[str, float]) -> S:
    """Return the same system, over the same variables, with some parameter values replaced by name.

    A value outside the parameter's range is refused.
    """
    if not values:
        return system
    checked = checked_values(system.parameters_by_var, values, system.name)
    changed = {v: placed(v.name, value) for v, value in checked.items()}
    return system.replaced(parameters={**system.parameters_by_var, **changed})


def connect(
    name: str,
    systems: Sequence[S],
    links: Mapping[Var, Expr],
    outputs: Mapping[str, Expr],
    *,
    inputs: Iterable[Var] = (),
    states: Mapping[Var, Expr] | None = None,
    initial: Mapping[Var, float] | None = None,
    parameters: Mapping[Var, float | None] | None = None,
) -> S:
    """Connect systems: each linked input becomes an assignment.

    Parameters
    ----------
    name
        Name of the whole.
    systems
        The parts; their variables must be distinct objects.
    links
        Inputs of the parts with the expressions that drive them.
    outputs
        Outputs of the whole.
    inputs
        Inputs to put first; the unlinked inputs of the parts follow.
    states, initial
        Further states with their rates, and initial values.
    parameters
        Further parameters with their values.
    """
    _check_links(name, systems, links)
    first = list(inputs)
    free = [*first, *(u for s in systems for u in s.input_vars if u not in links and u not in first)]

    def lookup(path: str) -> Expr:
        errors: list[InputError] = []
        for s in systems:
            try:
                return s.expression(path)
            except InputError as e:
                errors.append(e)
        raise _nearest(path, errors)

    interface, program = _joined([s.interface for s in systems]), _joined([s.program for s in systems])
    storage = _joined([s.storage for s in systems])
    return replace(
        systems[0],
        name=name,
        interface=replace(
            interface,
            states={**interface.states, **(states or {})},
            inputs=free,
            outputs=outputs,
            parameters={**interface.parameters, **(parameters or {})},
            input_defaults={u: x for u, x in interface.input_defaults.items() if u not in links},
        ),
        program=replace(program, definitions={**program.definitions, **links}),
        storage=replace(storage, initial={**storage.initial, **(initial or {})}),
        modes=_joined([s.modes for s in systems]),
        annotations=replace(_joined([s.annotations for s in systems]), lookup=lookup),
        inversion=None,
    )


def _check_links(name: str, systems: Sequence[SystemData], links: Mapping[Var, Expr]) -> None:
    """Refuse a link to what is no input, or to an input whose rate is needed."""
    known = {u for s in systems for u in s.input_vars}
    for u in links:
        if u not in known:
            raise InputError(
                f"{u.name} is linked but is not an input of {', '.join(s.name for s in systems)}"
            )
    linked_rates = [u.name for s in systems for u in s.input_rates if u in links]
    if linked_rates:
        raise InputError(
            f"{name}: the rate of {', '.join(linked_rates)} is needed inside, so it cannot be driven by "
            "another part"
        )


def _joined(parts: Sequence[P]) -> P:
    """Return one part of several systems as that of the whole, field by field."""
    of_all = {f.name: [getattr(p, f.name) for p in parts] for f in fields(parts[0])}
    return replace(parts[0], **{name: _union(name, values) for name, values in of_all.items()})


def _union(name: str, values: Sequence[Any]) -> Any:
    """Return tables and rows one after the other, and of numbers the largest."""
    if all(isinstance(value, Mapping) for value in values):
        return {k: v for value in values for k, v in value.items()}
    if all(isinstance(value, tuple) for value in values):
        return tuple(v for value in values for v in value)
    if all(isinstance(value, int) for value in values):
        return max(values)
    if name == "lookup":
        return None  # the whole looks in each of its parts
    raise TypeError(f"{name}: expected tables, rows or whole numbers; found {type(values[0]).__name__}")
