"""The test of a run file, made again from what the file says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bondloop import papers
from bondloop.engine.data import FAMILIES, Kind, Place, Reader, import_all_kinds
from bondloop.errors import BondloopError, InputError
from bondloop.hybrid import parameters_of_file, read_test

if TYPE_CHECKING:
    from bondloop.hybrid import Rehearsable


def recorded_test(description: Mapping[str, object]) -> Rehearsable:
    """Return the test that a run's record describes, with the values that were in force.

    No Python file is run, whatever the description names: a run file may be a stranger's.

    Parameters
    ----------
    description
        Of the record: ``run.record.description``.

    Raises
    ------
    InputError
        If it cannot be made from the description alone; what is missing is named.

    Examples
    --------
    >>> from bondloop.papers import gawthrop_three_mass
    >>> test = gawthrop_three_mass.test()
    >>> recorded_test(test.run(0.1).record.description) == test
    True
    """
    import_all_kinds()
    for entry in papers.entries():  # what they are made of is known once they are loaded
        entry.load()
    reader = Reader(folder=Path())
    reader.find = _refusing_files(reader)
    kind = FAMILIES["test"].get(str(description.get("test", "HybridTest")))
    if kind is None:
        raise InputError(f"unknown kind of test {description.get('test')!r}")
    known = parameters_of_file(kind)
    entries = {k: v for k, v in description.items() if k in known or k in ("test", "structure", "cut")}
    test = read_test(reader, entries)
    reader.raise_faults()
    made: Rehearsable = _as_it_ran(test, description.get("parameters"))
    return made


def _refusing_files(reader: Reader) -> Callable[[str, str, Place], Kind | None]:
    def find(family: str, name: str, place: Place) -> Kind | None:
        if ".py:" in name:
            reader.fault(place, f"'{name}' is in a Python file, which is not run for a file of results")
            return None
        return FAMILIES[family].get(name)

    return find


def _as_it_ran(test: Any, values: object) -> Any:
    """Return the test with the values of its parameters that were in force, where they differ."""
    if not isinstance(values, Mapping):
        return test
    own = test.parameters
    other = {k: v for k, v in values.items() if k in own and v is not None and v != own[k]}
    if not other:
        return test
    try:
        return test.with_values(other)
    except (BondloopError, AttributeError) as error:
        raise InputError(f"its values cannot be set again: {error}") from None
