"""Matrices that Nastran punches: DMIG entries of a .pch file."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bondloop.errors import InputError
from bondloop.program.number_block import NUMBER, fortran_number
from bondloop.structures.foreign.labelled import Entries, Label, labelled_content, refuse_faults, role_of
from bondloop.structures.foreign.text_file import read_source

__all__ = ["read_punch"]

_BARE = re.compile(r"([-+]?(?:\d+\.\d*|\.\d+))([-+]\d{1,3})")
"""A number of Nastran without the letter of its exponent: 1.5+6."""
FORMS = {1: False, 6: True}
"""Whether only a triangle is written, by the form of a square or symmetric matrix."""


def read_punch(path: Path) -> dict[str, Any]:
    r"""Return the matrices of a punch file, by name; those that begin with K, M and B as K, M and C too.

    Large-field entries (``DMIG*``), as Nastran punches them, of real square matrices. Degrees of freedom are
    called ``n12.ux`` by grid point and component, scalar points ``s7``.

    Parameters
    ----------
    path
        Of the file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "two.pch"
    >>> _ = file.write_text(
    ...     "DMIG    KAAX           0       6       2       0                       2\n"
    ...     "DMIG*   KAAX                           1               1\n"
    ...     "*                      1               1 3.000000000D+00\n"
    ...     "DMIG*   KAAX                           2               1\n"
    ...     "*                      1               1-1.000000000D+00\n"
    ...     "*                      2               1 1.000000000D+00\n"
    ... )
    >>> content = read_punch(file)
    >>> content["K"].toarray().tolist(), content["dofs"]
    ([[3.0, -1.0], [-1.0, 1.0]], ('n1.ux', 'n2.ux'))
    """
    faults: list[str] = []
    matrices: dict[str, tuple[Entries, bool]] = {}
    aside: set[str] = set()
    column: tuple[str, Label] | None = None
    for row, raw in enumerate(read_source(path, "punch file").splitlines(), 1):
        line = raw.expandtabs(8).rstrip()
        if not line or line[0] == "$":
            continue
        head = line[:8].strip().upper()
        try:
            if head == "DMIG":
                _open_matrix(line, row, matrices, aside)
                column = None
            elif head == "DMIG*":
                name = line[8:24].strip()
                column = (_known(name, row, (*matrices, *aside)), _label(line, row, 24, 40))
            elif head == "*" and column is not None:
                name, label = column
                if name not in aside:
                    matrices[name][0].append((_label(line, row, 8, 24), label, _value(line, row, 40)))
            else:
                faults.append(f"line {row}, column 1: {head[:20]!r}; expected DMIG, DMIG* or *")
        except InputError as error:
            faults.append(str(error))
        if len(faults) > 1000:  # it is no punch file
            break
    if not matrices and not faults:
        faults.append("no real square matrix is in it" if aside else "no line begins with DMIG")
    refuse_faults(faults)
    for name, role in role_of(matrices).items():
        matrices[role] = matrices.pop(name)
    return labelled_content(matrices)


def _known(name: str, row: int, names: Collection[str]) -> str:
    if name not in names:
        raise InputError(f"line {row}, column 9: the matrix {name[:20]!r} has no header 'DMIG NAME 0 ...'")
    return name


def _open_matrix(line: str, row: int, matrices: dict[str, tuple[Entries, bool]], aside: set[str]) -> None:
    """Begin a matrix; complex and rectangular ones are put aside, unless they are called K, M or B."""
    name, zero = line[8:16].strip(), line[16:24].strip()
    if zero != "0":
        raise InputError(f"line {row}, column 17: small fields are not read; punch with 'DMIG*'")
    if not name or name in matrices or name in aside:
        raise InputError(f"line {row}, column 9: the matrix {name[:20]!r} has no name, or a second header")
    form, kind = (_whole(line, row, at, at + 8, what) for at, what in ((24, "the form"), (32, "the type")))
    if form in FORMS and kind in (1, 2):
        matrices[name] = ([], FORMS[form])
        return
    aside.add(name)
    if role_of([name]):
        raise InputError(
            f"line {row}, column 25: {name!r} has the form {form} and the type {kind}; expected a square (1) "
            "or symmetric (6) matrix of real numbers (1, 2)"
        )


def _label(line: str, row: int, first: int, second: int) -> Label:
    node = _whole(line, row, first, first + 16, "a grid point")
    dof = _whole(line, row, second, second + 16, "a component") if line[second : second + 16].strip() else 0
    if not 0 <= dof <= 6 or node < 0:
        raise InputError(f"line {row}, column {second + 1}: component {dof} of point {node}; expected 0 to 6")
    return node, dof


def _whole(line: str, row: int, start: int, end: int, what: str) -> int:
    text = line[start:end].strip()
    if not re.fullmatch(r"[-+]?\d{1,15}", text):
        raise InputError(
            f"line {row}, column {start + 1}: expected a whole number for {what}; found {text[:20]!r}"
        )
    return int(text)


def _value(line: str, row: int, start: int) -> float:
    text = line[start : start + 16].strip()
    bare = _BARE.fullmatch(text)
    value = float(f"{bare[1]}e{bare[2]}") if bare else math.nan
    if not bare and re.fullmatch(NUMBER, text):
        value = fortran_number(text)
    if not math.isfinite(value) or line[start + 16 :].strip():
        shown = text if not math.isfinite(value) else line[start + 16 :].strip()
        raise InputError(f"line {row}, column {start + 1}: {shown[:40]!r}; expected one finite real number")
    return value
