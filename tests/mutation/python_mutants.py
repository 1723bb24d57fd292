"""Small faults in Python: one expression or statement changed, found by the syntax tree."""

import ast

COMPARED = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",), ast.NotIn: ("in",),
}  # fmt: skip
CALCULATED = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}
OTHER_CALLS = {"min": "max", "max": "min", "both": "either", "either": "both", "any": "all", "all": "any"}
DROPPED_CALLS = ("abs", "min", "max", "no", "sqrt", "maximum", "minimum", "ceil", "limited", "finite")
OTHER_FUNCTIONS = {"fmin": "fmax", "fmax": "fmin", "cos": "sin"}


def mutants(text):
    """Return the changes of a text: (start, end, new text) in characters, in their order."""
    tree, found = ast.parse(text), []
    lines = [0]
    for line in text.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    left_out = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns", "decorator_list"):
            for part in _listed(getattr(node, name, None)):
                left_out.update(id(n) for n in ast.walk(part))
        if isinstance(node, ast.JoinedStr) or _is_for_types(
            node
        ):  # wording; and Python 3.11 does not know where
            left_out.update(id(n) for n in ast.walk(node))

    def put(node, new):
        start, end = (
            len(text.encode()[: lines[row - 1] + column].decode())
            for row, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        )
        old = text[start:end]
        if new != old:
            found.append((start, end, new))

    for node in ast.walk(tree):
        if id(node) not in left_out:
            for new in _changed(node):
                put(node, new)
        tests = getattr(node, "ifs", None) or _listed(getattr(node, "test", None))
        for test in tests:
            if id(test) not in left_out:
                put(test, f"not ({ast.unparse(test)})")
    return sorted(found)


def _changed(node):
    text = ast.unparse
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for operator in COMPARED[type(node.ops[0])]:
            yield f"({text(node.left)} {operator} {text(node.comparators[0])})"
    elif isinstance(node, ast.BinOp) and type(node.op) in CALCULATED:
        yield f"(({text(node.left)}) {CALCULATED[type(node.op)]} ({text(node.right)}))"
    elif isinstance(node, ast.BoolOp):
        joined = " or " if isinstance(node.op, ast.And) else " and "
        yield f"({joined.join(f'({text(v)})' for v in node.values)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield f"({text(node.operand)})"
    elif isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.AugAssign | ast.Raise) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant)
    ):
        yield "pass"


def _constants(value):
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int | float):
        yield from (repr(v) for v in dict.fromkeys((value + 1, 2 * value, 0 * value)) if v != value)


def _calls(node):
    text, name = ast.unparse, getattr(node.func, "attr", getattr(node.func, "id", None))
    arguments = [text(a) for a in node.args]
    if name == "select" and len(arguments) == 3:
        yield f"{text(node.func)}({arguments[0]}, {arguments[2]}, {arguments[1]})"
    if name == "function" and len(arguments) > 1:
        yield f"({arguments[1]})"
        other = OTHER_FUNCTIONS.get(getattr(node.args[0], "value", None))
        if other:
            yield f"{text(node.func)}({', '.join([repr(other), *arguments[1:]])})"
    if name in DROPPED_CALLS and arguments and not arguments[0].startswith("*"):
        yield f"({arguments[0]})"
    if name in OTHER_CALLS:
        yield f"{OTHER_CALLS[name]}({', '.join([*arguments, *map(text, node.keywords)])})"


def _listed(part):
    return part if isinstance(part, list) else [] if part is None else [part]


def _is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
