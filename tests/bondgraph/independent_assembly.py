"""Linear bond graphs assembled as one sparse set of equations, without causality: the independent answer.

Unknowns are the effort and flow of every bond and the content of every storage; each part contributes its own
equations as they stand in the textbook. Nothing of bondloop but the drawn parts and bonds is used.
"""

import numpy as np

from bondloop.bondgraph import GY, SS, TF, C, I, One, R, Se, Sf, Zero


class Assembly:
    """``M(s) z = b u``: one column of b for each source, in the order of the walk."""

    def __init__(self, model):
        self.parts = [(path, part) for path, part in model.walk() if hasattr(part, "_bonds")]
        self.bonds = [b for b in model.bonds() if b.word is None]
        self.number = {b: k for k, b in enumerate(self.bonds)}
        storages = [part for _, part in self.parts if isinstance(part, (I, C))]
        self.content = {part: 2 * len(self.bonds) + k for k, part in enumerate(storages)}
        self.size = 2 * len(self.bonds) + len(storages)
        self.sources = [path for path, part in self.parts if isinstance(part, (Se, Sf))]

    def effort(self, b):
        return 2 * self.number[b]

    def flow(self, b):
        return 2 * self.number[b] + 1

    def matrices(self, s):
        """M at one complex frequency, and b."""
        rows, right = [], []

        def add(*terms, source=None):
            row = np.zeros(self.size, dtype=complex)
            for column, value in terms:
                row[column] += value
            rows.append(row)
            right.append(source)

        for path, part in self.parts:
            self._part(path, part, s, add)
        b = np.zeros((len(rows), len(self.sources)))
        for k, source in enumerate(right):
            if source is not None:
                b[k, self.sources.index(source)] = 1
        return np.array(rows), b

    def _part(self, path, part, s, add):  # noqa: PLR0912 - one case per kind
        bonds, e, f = [b for b in part._bonds if b.word is None], self.effort, self.flow
        sign = {b: 1 if b.head is part else -1 for b in bonds}
        if isinstance(part, (One, Zero)):
            common, other = (f, e) if isinstance(part, One) else (e, f)
            for b in bonds[1:]:
                add((common(bonds[0]), 1), (common(b), -1))
            add(*((other(b), sign[b]) for b in bonds))
        elif isinstance(part, TF) and part.matrix is not None:
            ins = sorted((b for b in bonds if b.head is part), key=lambda b: b.head_index)
            outs = sorted((b for b in bonds if b.tail is part), key=lambda b: b.tail_index)
            N = np.array(part.matrix, dtype=float)
            if part.word == "effort_ratio":  # effort_out = E effort_in, flow_in = E.T flow_out
                for i, out in enumerate(outs):
                    add((e(out), -1), *((e(b), N[i, j]) for j, b in enumerate(ins)))
                for j, b in enumerate(ins):
                    add((f(b), -1), *((f(out), N[i, j]) for i, out in enumerate(outs)))
            else:  # flow_out = N flow_in, effort_in = N.T effort_out
                for i, out in enumerate(outs):
                    add((f(out), -1), *((f(b), N[i, j]) for j, b in enumerate(ins)))
                for j, b in enumerate(ins):
                    add((e(b), -1), *((e(out), N[i, j]) for i, out in enumerate(outs)))
        elif isinstance(part, (TF, GY)):
            (one,), (two,) = [b for b in bonds if b.head is part], [b for b in bonds if b.tail is part]
            n = part.coefficient if part.word in ("modulus", "ratio") else 1 / part.coefficient
            pairs = [(e(one), e(two)), (f(two), f(one))] if isinstance(part, TF) else [
                (e(one), f(two)), (e(two), f(one))]  # fmt: skip
            for left, right in pairs:
                add((left, 1), (right, -n))
        elif isinstance(part, Se):
            add((e(bonds[0]), 1), source=path)
        elif isinstance(part, Sf):
            add((f(bonds[0]), 1), source=path)
        else:
            (b,), value = bonds, None if part.coefficient is None else part.coefficient[1]
            assert not isinstance(part, SS)
            if isinstance(part, R):
                add((e(b), 1), (f(b), -sign[b] * value))
            elif isinstance(part, I):
                add((self.content[part], s), (e(b), -1))
                add((self.content[part], 1 / value), (f(b), -sign[b]))
            else:
                add((self.content[part], s), (f(b), -sign[b]))
                add((self.content[part], value), (e(b), -1))

    def regular(self):
        """Whether there is one solution at almost every frequency."""
        M, _ = self.matrices(0.7318 + 1.1427j)
        M = M / np.abs(M).max(axis=1, keepdims=True)
        sizes = np.linalg.svd(M, compute_uv=False)
        return bool(sizes[-1] > 1e-10 * sizes[0])

    def response(self, w):
        """Efforts and flows of all bonds at one frequency for each source: shape (2, bonds, sources)."""
        M, b = self.matrices(1j * w)
        z = np.linalg.solve(M, b)
        return z[: 2 * len(self.bonds)].reshape(len(self.bonds), 2, -1).transpose(1, 0, 2)
