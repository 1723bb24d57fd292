"""Files of tables, read by pydantic: TypedDicts say what stands in them, and all faults have places."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import AfterValidator, ConfigDict, TypeAdapter, ValidationError, WithJsonSchema, with_config

from bondloop.engine.data.restoring import FAILED
from bondloop.errors import unknown_name

if TYPE_CHECKING:
    from bondloop.engine.data.restoring import Place, Reader


ANY_NUMBER: dict[str, Any] = {"type": ["number", "string"], "pattern": r"^\s*[-+]?\.?\d"}
"""JSON Schema of a number, or of a text with a unit; the pattern is for texts alone."""

_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "dict_type": "a table",
    "list_type": "a list of tables",
    "float_type": "a number",
}
"""What pydantic's types of errors say that was expected."""

table = with_config(ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True))
"""Decorator of a TypedDict whose entries are documented by the texts below them, and no others known."""


def as_json(**words: Any) -> WithJsonSchema:
    """Return the mark of a type that says its JSON Schema.

    Parameters
    ----------
    **words
        Of the schema: ``type="array"``.
    """
    return WithJsonSchema(words)


def any_of(*choices: str) -> AfterValidator:
    """Return the mark of a text that is one of several.

    Parameters
    ----------
    *choices
        The texts.
    """

    def check(value: str) -> str:
        if value not in choices:
            raise ValueError(f"expected {', '.join(choices)}; found {value!r:.40}")
        return value

    return AfterValidator(check)


class Table:
    """Reads the entries of a table that is described by a TypedDict.

    Parameters
    ----------
    entries
        The TypedDict, decorated by `table`.

    Examples
    --------
    >>> from bondloop.engine.data.restoring import Reader
    >>> from typing_extensions import TypedDict
    >>> Field = table(TypedDict("Field", {"at": int, "unit": str}))
    >>> reader = Reader()
    >>> Table(Field).read(reader, {"at": "5", "unit": "mm", "unti": "m"}, ("field", 0))
    {'at': FAILED, 'unit': 'mm'}
    >>> print(reader.faults[0])
    field[0].at: expected a whole number; found '5'
    """

    def __init__(self, entries: Any) -> None:
        self.entries = entries

    @cached_property
    def adapter(self) -> TypeAdapter[dict[str, Any]]:
        """Pydantic's reader."""
        return TypeAdapter(self.entries)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        whole: dict[str, Any] = _without_titles(self.adapter.json_schema())
        return whole

    def read(self, reader: Reader, data: Mapping[str, Any], place: Place = ()) -> dict[str, Any]:
        """Return what a table holds; what is wrong in it is `FAILED`, and what is unknown is left out.

        Parameters
        ----------
        reader
            Who notes what is wrong.
        data
            The table.
        place
            Where it stands.
        """
        try:
            return self.adapter.validate_python(data)
        except ValidationError as found:
            errors = found.errors()
        whole = copy.deepcopy({"": dict(data)})
        for error in errors:
            *outer, last = ("", *error["loc"])
            known = self._about(error["loc"][:-1])
            holder: Any = whole
            for step in outer:
                holder = holder[step]
            where, kind = (*place, *error["loc"]), error["type"]
            if kind == "missing":
                reader.fault(where[:-1], f"expected an entry {last}: {known[str(last)]['description']}")
                continue
            if kind == "extra_forbidden":
                del holder[last]
                words = unknown_name("entry", str(last), known)
            else:
                holder[last] = FAILED
                words = f"expected {_EXPECTED.get(kind, '')}; found {error['input']!r:.40}"
            reader.fault(
                where, error["msg"].removeprefix("Value error, ") if kind == "value_error" else words
            )
        return whole[""]

    def _about(self, place: Sequence[int | str]) -> dict[str, Any]:
        """Return the schemas of the entries of a table within this one."""
        at = self.schema
        for step in place:
            at = at["items"] if isinstance(step, int) else at["properties"][step]
            at = self.schema["$defs"][at["$ref"].rpartition("/")[2]] if "$ref" in at else at
        about: dict[str, Any] = at["properties"]
        return about


def _without_titles(schema: Any) -> Any:
    """Return a schema without the titles that pydantic gives its parts."""
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    own: Callable[[str, Any], bool] = lambda key, value: key != "title" or not isinstance(value, str)  # noqa: E731
    return {key: _without_titles(value) for key, value in schema.items() if own(key, value)}
