"""Commands of a model, given to OpenSeesPy; prints eigenvalues, a static case, free vibration after it.

Run by `opensees_models.py`, which writes the commands to the standard input.
"""

import json
import sys

import openseespy.opensees as ops

SKIPPED = {"recorder", "constraints", "analysis", "wipe", "numberer", "system"}


def value(word: str) -> int | float | str:
    """Return a word as OpenSees wants it."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def analysis(kind: str, integrator: tuple) -> None:
    """Prepare an analysis."""
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-12, 10)
    ops.algorithm("Linear")
    ops.integrator(*integrator)
    ops.analysis(kind)


def motion(told: dict) -> list:
    """Return the displacements of all nodes."""
    return [[ops.nodeDisp(n, k + 1) for k in range(told["dofs"])] for n in told["nodes"]]


def main() -> None:
    """Build the model and analyse it."""
    told = json.load(sys.stdin)
    ops.wipe()
    for name, *words in told["commands"]:
        if name in SKIPPED:
            continue
        if name == "pattern":  # the series gets a tag of its own
            ops.timeSeries(words[2], int(words[1]))
            ops.pattern(words[0], int(words[1]), int(words[1]))
        else:
            getattr(ops, name)(*[value(word) for word in words])
    analysis("Static", ("LoadControl", 1.0))
    squares = ops.eigen("-fullGenLapack", told["modes"])
    ops.analyze(1)
    static = motion(told)
    ops.loadConst("-time", 0.0)
    ops.remove("loadPattern", told["pattern"])
    analysis("Transient", ("Newmark", 0.5, 0.25))
    shapes = []
    for _ in range(told["steps"]):
        ops.analyze(1, told["h"])
        shapes.append(motion(told))
    print()
    print(json.dumps({"squares": squares, "static": static, "motion": shapes}))


main()
