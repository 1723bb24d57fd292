"""Small faults in C: one operator, number, call, condition or statement changed.

The code must be written as ours is: binary operators of sums and comparisons stand between blanks, those of
products and pointers do not.
"""

import re

HIDDEN = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^#(?:\\\n|[^\n])*',
    re.DOTALL | re.MULTILINE,
)
SPACED = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "&": ("|",), "|": ("&",), "^": ("|",),
    "<<": (">>",), ">>": ("<<",), "+=": ("-=", "="), "-=": ("+=", "="), "|=": ("&=", "="), "^=": ("|=",),
}  # fmt: skip
OPERATOR = re.compile(r"(?<= )(?:<<|>>|<=|>=|==|!=|&&|\|\||\+=|-=|\|=|\^=|[<>+\-&|^])(?= )")
PRODUCT = re.compile(r"(?<=[\w)\]])([*/%])(?=[\w(])")
NUMBER = re.compile(r"(?<![\w.\[%])(\d+\.\d+|\d+)(?![\w.]|\]\s*[;=,{])")
NEGATION = re.compile(r"(?<=[ (])(!(?=[\w(])|-(?=[\w(]))")
DECLARATION = re.compile(
    r"(?:static|const|volatile|struct|enum|typedef|return|break|continue|goto|case|default|else|do|for|while|if|int|"
    r"double|long|char|unsigned|size_t|ssize_t|void|u?int\d+_t|bl_\w+(?= \**\w+(?: =|;|,| \=)))\b"
)
STATEMENT = re.compile(r"^( *)((?:\+\+|--)?\*?[A-Za-z_][^\n{}]*;)(?= *$)", re.MULTILINE)
OTHER_CALLS = {"fmax": "fmin", "fmin": "fmax", "cos": "sin"}
DROPPED_CALLS = ("fabs", "ceil", "narrow", "fmax", "fmin")
TRUTHS = ("bl_is_finite", "bl_is_nan", "are_finite", "is_peer", "is_withdrawn", "moves", "is_gentle",
          "bl_guard_is_safe", "knows_the_last_command")  # fmt: skip


def mutants(text):
    """Return the changes of a text: (start, end, new text) in characters, in their order."""
    code = HIDDEN.sub(lambda m: re.sub(r"[^\n]", "\0", m[0]), text)
    body = _bodies(code)
    found = []
    for m in OPERATOR.finditer(code):
        found += [(m.start(), m.end(), new) for new in SPACED[m[0]]]
    for m in PRODUCT.finditer(code):
        found.append((m.start(), m.end(), "/" if m[0] == "*" else "*"))
    for m in NUMBER.finditer(code):
        value = float(m[0]) if "." in m[0] else int(m[0])
        if value in (0, 1) and code[: m.start()].endswith(("return ", " = ")) and code[m.end()] == ";":
            found.append((m.start(), m.end(), str(1 - value)))  # a truth: 2 is as true as 1
            continue
        found += [
            (m.start(), m.end(), repr(n))
            for n in dict.fromkeys((value + 1, 2 * value, 0 * value))
            if n != value
        ]
    for m in NEGATION.finditer(code):
        if code[: m.start()].rstrip()[-1] in "(,=<>&|?:" or m[0] == "!":
            found.append((m.start(), m.end(), ""))
    for m in re.finditer(r"\b(?:if|while) (?=\()", code):
        end = _closed(code, m.end())
        found.append((m.end(), end, f"(!{text[m.end() : end]})"))
    for m in re.finditer(rf"\b({'|'.join((*OTHER_CALLS, *DROPPED_CALLS, *TRUTHS))})(?=\()", code):
        end = _closed(code, m.end())
        if m[1] in OTHER_CALLS:
            found.append((m.start(), m.end(), OTHER_CALLS[m[1]]))
        if m[1] in DROPPED_CALLS:
            first = _first(code, m.end() + 1, end - 1)
            found.append((m.start(), end, f"({text[m.end() + 1 : first]})"))
        if m[1] in TRUTHS:
            found += [(m.start(), end, "0"), (m.start(), end, "1")]
    for m in STATEMENT.finditer(code):
        if not DECLARATION.match(m[2]) and m[2].count("(") == m[2].count(")") and _is_whole(code, m.start()):
            found.append((m.start(2), m.end(2), ";"))
    return sorted({f for f in found if body[f[0]]})


def _bodies(code):
    """Return for each character whether it stands within a function."""
    inside, deep = [], 0
    for c in code:
        deep += (c == "{") - (c == "}")
        inside.append(deep > 0)
    return inside


def _closed(code, start):
    deep = 0
    for i in range(start, len(code)):
        deep += (code[i] == "(") - (code[i] == ")")
        if deep == 0:
            return i + 1
    raise ValueError(code[start : start + 80])


def _first(code, start, end):
    """Return where the first of a call's arguments ends."""
    deep = 0
    for i in range(start, end):
        deep += (code[i] in "([") - (code[i] in ")]")
        if deep == 0 and code[i] == ",":
            return i
    return end


def _is_whole(code, start):
    """Whether the line before ends a statement or a heading, so that none begins there and goes on here."""
    before = code[:start].replace("\0", " ").rstrip()
    return before[-1:] in ("{", "}", ";", ")", ":") or before.endswith("else")
