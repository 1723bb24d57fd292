"""LaTeX of path names: a letter for the quantity, the owner as a subscript; no two paths look alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["latex_name", "latex_names"]

_LETTERS = {
    "momentum": "p", "displacement": "q", "effort": "e", "flow": "f", "mass": "m", "inertia": "J",
    "inductance": "L", "inertance": "I", "stiffness": "k", "compliance": "C", "capacitance": "C",
    "damping": "c", "resistance": "R", "conductance": "G", "modulus": "n", "ratio": "r",
}  # fmt: skip
"""Letters that stand for the last word of a path."""

_SPECIAL = {
    "\\": r"\backslash ", "{": r"\{", "}": r"\}", "_": r"\_", "%": r"\%", "#": r"\#", "&": r"\&",
    "$": r"\$", "~": r"\sim ", "^": r"\wedge ", " ": r"\ ", ".": ",",
}  # fmt: skip
"""What stands for a character in upright text: a dot would end a sentence, so the parts of a path are
separated by commas, as indices are."""


def latex_name(path: str, spelt: bool = False) -> str:
    r"""LaTeX of a path name.

    Parameters
    ----------
    path
        The name.
    spelt
        Whether the quantity is spelt instead of shortened to a letter.

    >>> print(latex_name("m1.I.mass"), latex_name("m1.I.mass", spelt=True))
    m_{\mathrm{m1,I}} \mathrm{mass}_{\mathrm{m1,I}}
    >>> print(latex_name("d/dt m1.I.momentum"), latex_name("field.mass[0,1]"))
    \dot{p}_{\mathrm{m1,I}} m_{\mathrm{field},0,1}
    """
    if path.startswith("d/dt "):
        head, brace, rest = latex_name(path[5:], spelt).partition("_{")
        return f"\\dot{{{head}}}{brace}{rest}"
    match = re.fullmatch(r"d\((.+)\)/d\((.+)\)", path)
    if match:
        top, bottom = (latex_name(p, spelt) for p in match.groups())
        return f"\\frac{{\\partial {top}}}{{\\partial {bottom}}}"
    if not spelt:  # of a signal the value, of a field's flow the state: the thing itself
        path = path.removesuffix(".value").removesuffix(".state")
    owner, _, last = path.rpartition(".")
    word, bracket, index = last.partition("[")
    subscripts = [f"\\mathrm{{{_upright(owner)}}}"] if owner else []
    subscripts += [index.rstrip("]")] if bracket else []
    if word in _LETTERS and owner and not spelt:
        head = _LETTERS[word]
    elif re.fullmatch(r"[A-Za-z]", word) and not (spelt and owner):
        head = word
    elif re.fullmatch(r"[A-Za-z]\d+", path):
        head, subscripts = word[0], [word[1:]]
    elif not owner:  # a name without an owner is all there is
        return _plain(path)
    else:
        head = f"\\mathrm{{{_upright(word)}}}"
    return f"{head}_{{{','.join(subscripts)}}}" if subscripts else head


def latex_names(paths: Iterable[str]) -> dict[str, str]:
    r"""LaTeX of several path names, all different: where two would look alike, both are spelt.

    >>> latex_names(["spring.stiffness", "spring.k", "F"])["spring.stiffness"]
    '\\mathrm{stiffness}_{\\mathrm{spring}}'
    """
    names = {path: latex_name(path) for path in paths}
    for spell in (_spelt, _plain):
        often = Counter(names.values())
        names = {path: spell(path) if often[name] > 1 else name for path, name in names.items()}
    # What still looks alike differs only in characters that are written alike: primes tell them apart.
    seen: Counter[str] = Counter()
    for path, name in names.items():
        names[path] = name + "'" * seen[name]
        seen[name] += 1
    return names


def _spelt(path: str) -> str:
    return latex_name(path, spelt=True)


def _plain(path: str) -> str:
    return f"\\mathrm{{{_upright(path)}}}"


def _upright(text: str) -> str:
    """Return text as it stands within upright letters."""
    return r"\to ".join("".join(_SPECIAL.get(c, c) for c in part) for part in text.split(">>"))
