"""Models: bond graphs with all that can be done with them: compile, cut, join again, draw, describe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bondloop.bondgraph.elements.one_ports import SS
from bondloop.bondgraph.graph import Graph, describe_model, mark_of
from bondloop.bondgraph.parts import Bond, Part, Port, Reading, Terminal, bond, unbond
from bondloop.bondgraph.passes.domains import domain_at
from bondloop.bondgraph.passes.flat_graph import flatten
from bondloop.display import with_progress
from bondloop.engine.data import (
    FAMILIES,
    Kind,
    Origin,
    copied_argument,
    family_word,
    in_python,
    origin_of,
    register,
    stamp_all,
)
from bondloop.errors import BondloopError, InputError, ModelError, one_or_all

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from bondloop.bondgraph.domain import Domain
    from bondloop.display import Bundle
    from bondloop.engine import System


INTERFACE = "interface"
"""Name of the source-sensors that stand at the cut in both halves."""


def _marked(model: Graph, bonds: Sequence[str]) -> list[Bond]:
    """Return the bonds that are cut: at least one, each once, and none that carries a signal."""
    if not bonds:
        raise ModelError("a cut needs at least one bond, such as 'm2.right >> m3.left'")
    marked = [model.bond_at(text) for text in bonds]
    for text, b in zip(bonds, marked, strict=True):
        if b.word is not None or b.tail.is_signal or b.head.is_signal:
            raise ModelError(f"'{text}' carries a signal; a cut is made at bonds that carry power")
    if len(set(marked)) != len(marked):
        raise ModelError("the same bond is named twice in the cut")
    return marked


def _seed(model: Graph, marked: Sequence[Bond], physical: object) -> Part:
    """Return a part of the physical half: the one that is named, or what stands at the first cut's head."""
    if physical is None:
        return marked[0].head
    if not isinstance(physical, str):
        raise ModelError(f"physical: expected the path of a part, such as 'm3'; found {physical!r:.60}")
    seed = model.find(physical)
    inside = [part for _, part in seed.walk()] if isinstance(seed, Graph) else [seed]
    for part in inside:
        if not isinstance(part, Graph):
            return part
    raise ModelError(f"{physical} is empty, so it cannot tell which half is physical")


def _half(
    model: Model,
    bonds: Sequence[str],
    reached: set[Part],
    domains: Sequence[Domain | None],
    keeps_physical: bool,
) -> Model:
    """Return a copy of a model without the parts of the other half, with a source-sensor at every cut."""
    half = model.copy()
    word = "physical" if keeps_physical else "numerical"
    object.__setattr__(half, "_name", f"{model._name or 'model'}_{word}")
    stays = {path: (part in reached) == keeps_physical for path, part in model.walk()}
    gone = [part for path, part in half.walk() if not (isinstance(part, Graph) or stays[path])]
    cuts = [half.bond_at(text) for text in bonds]
    sensors = [SS(domain=domain) for domain in domains]
    for b, tail_stays, sensor in zip(cuts, [stays[b.tail.path] for b in cuts], sensors, strict=True):
        part, index = (b.tail, b.tail_index) if tail_stays else (b.head, b.head_index)
        unbond(b)
        end = part if index is None else Terminal(part, index)
        if tail_stays:
            bond(end, sensor, stroke=b.stroke)
        else:
            bond(sensor, end, stroke=b.stroke)
    _remove(half, gone)
    _place(half, sensors)
    return half


def _place(half: Graph, sensors: list[SS]) -> None:
    for s in sensors:  # bonding has named them after their kind; here they get their own name
        if s._owner is not None:
            s._owner.__dict__.pop(s._name or "", None)
            del s._owner._parts[s._name or ""]
            s._owner = None
    setattr(half, INTERFACE, sensors[0] if len(sensors) == 1 else sensors)


def interfaces(model: Graph) -> list[SS]:
    """Return the source-sensors at the cut of a half, in order.

    Parameters
    ----------
    model
        A half, as a cut returns it.
    """
    found = getattr(model, INTERFACE, None) if INTERFACE in model.__dict__ else None
    if isinstance(found, SS):
        return [found]
    if isinstance(found, (list, tuple)) and all(isinstance(s, SS) for s in found):
        return list(found)
    raise ModelError(f"{model.path} has no part '{INTERFACE}'; make the halves with model.cut(...)")


def _physical_side(seed: Part, cuts: list[Bond]) -> set[Part]:
    """Return all physical parts: those joined to the seed, and those an even number of cuts away from it.

    The physical half may fall into several pieces, each on its own transfer systems.
    """
    apart = set(cuts)
    side = dict.fromkeys(_reachable(seed, apart), True)
    work = list(cuts)
    while work:
        near = [b for b in work if (b.tail in side) or (b.head in side)]
        if not near:
            break
        for b in near:
            work.remove(b)
            here, there = (b.tail, b.head) if b.tail in side else (b.head, b.tail)
            if there not in side:
                side.update(dict.fromkeys(_reachable(there, apart), not side[here]))
    return {part for part, physical in side.items() if physical}


def _reachable(seed: Part, cuts: set[Bond]) -> set[Part]:
    found = {seed}
    work = [seed]
    while work:
        part = work.pop()
        for b in part._bonds:
            if b in cuts:
                continue
            other = b.head if b.tail is part else b.tail
            if other not in found:
                found.add(other)
                work.append(other)
    return found


def _remove(half: Graph, gone: list[Part]) -> None:
    """Remove parts, and models that are left without elements."""
    for part in gone:
        owner: Part | None = part._owner
        half.remove(part.path)
        while isinstance(owner, Graph) and owner is not half and not owner._parts:
            empty, owner = owner, owner._owner
            half.remove(empty.path)


def _some(parts: set[Part]) -> str:
    names = sorted(p.path for p in parts if not isinstance(p, Port))
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


class Model(Graph):
    """A bond graph, or a part of one.

    Assigning a part to an attribute names it; a list of parts becomes an array (``cells[0]``). Subclass it to
    make a part of your own; no call of ``super().__init__()`` is needed.

    Parameters
    ----------
    name
        Name of the model, for titles and files.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, Model, One, Se
    >>> m = Model("oscillator")
    >>> m.v = One()
    >>> m.force = Se("F")
    >>> _ = m.force >> m.v >> [I(mass=2), C(stiffness=8)]
    >>> print(m.compile().equations())
    d/dt I.momentum     = -C.displacement*C.stiffness + F
    d/dt C.displacement = I.momentum/I.mass
    """

    def _is_reserved(self, name: str) -> bool:
        return hasattr(Model, name)

    # ---------------------------------------------------------------- readings

    def describe(self) -> dict[str, Any]:
        """Return the model as data: the call that made it, or its parts and bonds.

        >>> from bondloop.bondgraph import I, Model, One
        >>> m = Model("mass")
        >>> m.v = One()
        >>> _ = m.v >> I(mass=2.0)
        >>> m.describe()["parts"], m.describe()["bonds"]
        ({'v': {'part': 'One'}, 'I': {'part': 'I', 'mass': 2.0}}, ['v >> I'])
        """
        return describe_model(self)

    def __repr__(self) -> str:
        origin = origin_of(self) if self._owner is None else None
        return super().__repr__() if origin is None else in_python(origin.describe())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> Bundle | None:
        """Return the drawing for a notebook; None where there is nothing to draw."""
        try:
            figure: Any = self.draw()
        except BondloopError:
            return None
        shown: Bundle = figure._repr_mimebundle_(include, exclude)
        return shown

    def _mark(self) -> int:
        return mark_of(self)

    @with_progress("deriving the equations")
    def compile(
        self,
        outputs: Sequence[str | Reading] | str | Reading | None = None,
        *,
        iterations: int | None = None,
        modes: Mapping[str, int | str] | None = None,
    ) -> System:
        """Assign causality and derive the equations.

        Parameters
        ----------
        outputs
            Path names of any variables (``"m3.v.flow"``), or readings of storages
            (``m3.spring.displacement``); by default all detectors and source-sensors.
        iterations
            Newton steps of nonlinear algebraic loops.
        modes
            For a model with switches: the mode of each by path, ``{"diode": "on"}``. The result is then the
            system in these modes alone. Without it, one that switches.
        """
        from bondloop.bondgraph.passes.compile import compiled

        system = compiled(self, outputs, iterations, modes)
        remember_model(system, self, None if outputs is None else system.outputs, iterations, modes)
        return system

    def cut(self, *bonds: str, physical: str | None = None) -> tuple[Model, Model]:
        """Cut into a numerical and a physical half: ``numerical, physical = m.cut("m2.right >> m3.left")``.

        Both halves are ordinary models, copies of the original with the other half's parts removed. At each
        cut stands a source-sensor ``interface`` (``interface[0]``, ... for several): it imposes what the
        other half would impose and senses what the other half would feel.

        Parameters
        ----------
        *bonds
            Every bond between the halves, each written as ``"m2.right >> m3.left"``; they must carry
            power and together separate the model.
        physical
            Path of any part that is to be physical; by default the half at the head of the first bond is.
        """
        marked = _marked(self, bonds)
        whole = flatten(self)  # faults of the whole are reported before those of the halves
        domains = [domain_at(whole, b) for b in marked]
        reached = _physical_side(_seed(self, marked, physical), marked)
        for text, b in zip(bonds, marked, strict=True):
            if (b.tail in reached) == (b.head in reached):
                side = "physical" if b.tail in reached else "numerical"
                raise ModelError(
                    f"the cut does not separate the model at '{text}': both its ends are on the {side} side; "
                    f"the physical side holds {_some(reached)}; name every bond between the two halves"
                )
        halves = [_half(self, bonds, reached, domains, keeps) for keeps in (False, True)]
        arguments = {"of": self, "cut": tuple(bonds), "physical": physical}
        stamp_all({"numerical_half": halves[0], "physical_half": halves[1]}, FAMILIES["model"], arguments)
        return halves[0], halves[1]

    def draw(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        fold: bool | None = None,
        unfold: Sequence[str] = (),
        title: str | None = None,
        frames: bool = True,
        dpi: int = 200,
    ) -> Figure:
        """Draw the bond graph with half arrows and causal strokes.

        A model whose causality fails is drawn too, the conflict marked where it is.

        Parameters
        ----------
        path
            Where to save it: ``.svg``, ``.png`` or ``.pdf``.
        fold
            Whether sub-models are drawn as boxes. By default those of a large model (over 80 parts) are.
        unfold
            Paths of sub-models to show from inside; what is within them stays folded.
        title
            Written above the drawing; the model's name where none is given.
        frames
            Whether sub-models get a frame with their name.
        dpi
            Dots per inch of a PNG.
        """
        from bondloop.bondgraph.drawing.page import draw
        from bondloop.bondgraph.drawing.text_sketch import sketch

        nodes, edges = sketch(self, fold, [unfold] if isinstance(unfold, str) else unfold)
        return draw(
            nodes, edges, path, title=self._name or "" if title is None else title, frames=frames, dpi=dpi
        )


family_word("Model", "model", __name__)


def model_from_parts(
    parts: Mapping[str, Part],
    bonds: Sequence[str | Mapping[str, str]] = (),
    name: str | None = None,
    values: Mapping[str, float] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> Model:
    """Return a model from parts and bonds.

    Parameters
    ----------
    parts
        Elements, junctions, ports and models by name; ``cell[0]`` is a member of an array.
    bonds
        As text, ``"wall >> m1.left"``, in the order in which they are drawn; with an imposed causal stroke
        ``{"bond": "a >> b", "stroke": "head"}``.
    name
        Of the model.
    values
        Of symbols.
    attributes
        What else the model says about itself: ``{"capacity": {"force": 1e3}}`` of a transfer system.

    Examples
    --------
    >>> from bondloop.bondgraph import C, I, One
    >>> m = model_from_parts(
    ...     {"v": One(), "mass": I(mass=2), "spring": C(stiffness=8)}, ["v >> mass", "v >> spring"]
    ... )
    >>> m.compile().states
    ('mass.momentum', 'spring.displacement')
    """
    model = Model(name)
    for key, part in parts.items():
        if not isinstance(part, Part):
            raise InputError(
                f"Model(parts): expected a part for '{key}', such as I(mass=2); found {part!r:.60}"
            )
        place(model, key, part)
    faults = []
    for i, text in enumerate(bonds):
        written, stroke = (
            (text.get("bond"), text.get("stroke")) if isinstance(text, Mapping) else (text, None)
        )
        try:
            tail, head = ends_of(model, written)
            bond(tail, head, stroke=stroke)
        except BondloopError as error:
            faults.append(f"Model(bonds[{i}]): {error}")
    if faults:
        raise one_or_all("Model", faults)
    model.let(**dict(values or {}))
    for key, value in (attributes or {}).items():
        if not key.isidentifier() or key[0] == "_" or hasattr(Model, key) or key in model._parts:
            raise InputError(
                f"Model(attributes): the name '{key}' is taken, or is none that Python can write"
            )
        object.__setattr__(model, key, value)
    return model


def ends_of(model: Model, text: object) -> tuple[Part | Terminal, Part | Terminal]:
    """Return the two ends of a bond that is written as ``"a.b >> c.d"``."""
    ends = [e.strip() for e in text.split(">>")] if isinstance(text, str) else []
    if len(ends) != 2 or not all(ends):
        raise InputError(f"expected a bond written as 'a.b >> c.d'; found {text!r:.60}")
    word = model._word_read(ends[0])
    result: list[Part | Terminal] = []
    for end in (ends[0].removesuffix(f".{word}"), ends[1]):
        part, index = model._terminal(end)
        result.append(part if index is None else Terminal(part, index))
    if word is not None:
        tail = result[0]
        part, index = (tail.part, tail.index) if isinstance(tail, Terminal) else (tail, None)
        result[0] = Reading(part, index, word)
    return result[0], result[1]


def place(model: Model, name: str, part: Part, longest: int = 100_000) -> None:
    """Name a part as it is called in data, which need not be a Python identifier.

    Any name can be found by its path; those that Python can write become attributes, and ``floor[1]`` becomes
    a member of a list of at most ``longest``, with None where there is no such number.
    """
    if not name:
        raise InputError(f"a part of {model.path} has no name")
    model._add(name, part)
    array, bracket, number = name.partition("[")
    if hasattr(type(model), array):
        return
    if not bracket:
        object.__setattr__(model, name, part)
    elif re.fullmatch(r"\d+\]", number) and int(number[:-1]) < longest:
        members = model.__dict__.setdefault(array, [])
        members += [None] * (int(number[:-1]) + 1 - len(members))
        members[int(number[:-1])] = part


def rejoin(numerical: Model, physical: Model) -> Model:
    """Join two halves at their interfaces; the result behaves as the original did.

    Parameters
    ----------
    numerical, physical
        The two halves of one cut.
    """
    left, right = interfaces(numerical), interfaces(physical)
    if len(left) != len(right):
        raise ModelError(f"the halves do not fit: {len(left)} interfaces in one, {len(right)} in the other")
    whole = Model("rejoined")
    whole.numerical, whole.physical = numerical.copy(), physical.copy()
    pairs = []
    for half in (whole.numerical, whole.physical):
        ports = []
        for i, sensor in enumerate(interfaces(half)):
            name = INTERFACE if len(left) == 1 else f"{INTERFACE}[{i}]"
            port = Port(size=sensor.size or 1, domain=sensor.domain)
            half.swap(name, port)
            ports.append(port)
        pairs.append(ports)
    for a, b in zip(*pairs, strict=True):
        if a._bonds[0].head is a:
            bond(a, b)
        else:
            bond(b, a)
    return whole


def numerical_half(of: Model, cut: Sequence[str], physical: str | None = None) -> Model:
    """Return the numerical half of a model.

    Parameters
    ----------
    of
        The model.
    cut
        The bonds that are cut.
    physical
        Path of any part that is to be physical.
    """
    return of.cut(*cut, physical=physical)[0]


def physical_half(of: Model, cut: Sequence[str], physical: str | None = None) -> Model:
    """Return the physical half of a model; what it takes is as for `numerical_half`."""
    return of.cut(*cut, physical=physical)[1]


register(Kind("model", "numerical_half", numerical_half))
register(Kind("model", "physical_half", physical_half))


def system_from(
    of: Model,
    outputs: Sequence[str] | str | None = None,
    iterations: int | None = None,
    modes: Mapping[str, int | str] | None = None,
) -> System:
    """Return the equations of a model, ``of.compile(...)``, as a description calls it."""
    return of.compile(outputs, iterations=iterations, modes=modes)


register(Kind("model", "Model", model_from_parts))
_COMPILED = register(Kind("system", "from_model", system_from))


def remember_model(
    system: System,
    model: Model,
    outputs: Sequence[str] | None,
    iterations: int | None,
    modes: Mapping[str, int | str] | None,
) -> None:
    """Let a system remember the model that it was compiled from, and how."""
    names = None if outputs is None else list(outputs)
    arguments = {"of": model, "outputs": names, "iterations": iterations, "modes": copied_argument(modes)}

    # The model may be edited later. To mark it now would make every compilation slower by a seventh; to
    # compile it once more is work for those alone who ask for the description.
    def holds(value: System) -> bool:
        try:
            return _formulas(system_from(**arguments)) == _formulas(value)
        except BondloopError:
            return False

    object.__setattr__(system, "_origin", Origin(_COMPILED, arguments, holds=holds))


def _formulas(system: System) -> tuple[object, ...]:
    """Return the names, numbers and formulas of a system, to be compared with those of another."""
    rates = zip(system.states, map(str, system.rate_exprs), strict=True)
    defined = [(v.name, str(e)) for v, e in system.definitions.items()]
    outputs = [(name, str(e)) for name, e in system.output_exprs.items()]
    start = [(v.name, x) for v, x in system.initial_by_var.items()]
    return (
        [*rates],
        system.inputs,
        defined,
        outputs,
        start,
        dict(system.parameters),
        dict(system.input_defaults),
    )
