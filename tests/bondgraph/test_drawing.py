"""Drawings of bond graphs: layouts without faults, texts that do not touch, files that open."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bondloop.bondgraph.drawing import Edge, Node, draw, layout, quality
from bondloop.errors import InputError


class Sketch:
    """A bond graph under construction."""

    def __init__(self):
        self.nodes, self.edges = [], []

    def node(self, symbol, label="", group=""):
        self.nodes.append(Node(f"n{len(self.nodes)}", symbol, label, group))
        return len(self.nodes) - 1

    def bond(self, tail, head, stroke="head", **more):
        self.edges.append(Edge(tail, head, stroke, **more))

    def hang(self, junction, *parts, group=""):
        for part in parts:
            symbol, _, label = part.partition(":")
            leaf = self.node(symbol, label, group)
            if symbol in ("Se", "Sf", "SS"):
                self.bond(leaf, junction, "head" if symbol == "Se" else "tail")
            else:
                self.bond(junction, leaf, "head" if symbol == "I" else "tail")


def chain(masses, groups=True):
    s = Sketch()
    last = s.node("Sf", "r")
    for i in range(1, masses + 1):
        group = f"m{i}" if groups else ""
        zero, one = s.node("0", "side", group), s.node("1", "v", group)
        s.bond(last, zero, "tail")
        s.bond(zero, one, "head" if i % 2 else "tail")
        s.hang(zero, f"C:k{i}", group=group)
        s.hang(one, f"I:m{i}", f"R:c{i}", group=group)
        last = one
    s.hang(last, "Se:load")
    return s


def motor():
    s = Sketch()
    electric, shaft, load = s.node("1", "i"), s.node("1", "ω"), s.node("1", "v")
    gyrator, gear = s.node("GY", "k"), s.node("TF", "n")
    for a, b in pairwise([electric, gyrator, shaft, gear, load]):
        s.bond(a, b, "tail")
    s.hang(electric, "Se:V", "I:L", "R:R")
    s.hang(shaft, "I:J", "R:b")
    s.hang(load, "I:m", "R:c", "Se:F")
    return s


def bridge():
    s = Sketch()
    a, b, c, d = (s.node("0", name) for name in "abcd")
    for number, (tail, head) in enumerate([(a, b), (a, c), (b, d), (c, d), (b, c)], 1):
        one = s.node("1")
        s.bond(tail, one, "tail")
        s.bond(one, head, "tail")
        s.hang(one, f"R:R{number}")
    one = s.node("1")
    s.bond(d, one, "tail")
    s.bond(one, a, "tail")
    s.hang(one, "Se:U")
    return s


def star():
    s = Sketch()
    hub = s.node("1", "v")
    s.hang(hub, "Se:F", "I:m", "C:k1", "C:k2", "R:c1", "R:c2", "R:c3", "Se:weight")
    return s


def pendulum():
    s = Sketch()
    turns = [s.node("1", f"ω{i}") for i in (1, 2)]
    for i, turn in enumerate(turns, 1):
        s.hang(turn, f"I:J{i}", f"R:b{i}")
    integrals = []
    for i, turn in enumerate(turns, 1):
        sensor, integral = s.node("Df", f"ω{i}"), s.node("∫", f"θ{i}")
        s.bond(turn, sensor, "tail")
        s.bond(sensor, integral, None, signal=True)
        integrals.append(integral)
    for body in (1, 2):
        for axis in "xy":
            one = s.node("1", f"{axis}{body}")
            s.hang(one, f"I:m{body}")
            if axis == "y":
                s.hang(one, f"Se:g{body}")
            for arm in range(body):
                ratio = s.node("MTF", "")
                s.bond(turns[arm], ratio, "tail")
                s.bond(ratio, one, "tail")
                s.bond(integrals[arm], ratio, None, signal=True)
    return s


def building(storeys):
    """Masses joined by springs and dampers in parallel: a branch under every 0-junction."""
    s = Sketch()
    last = s.node("Sf", "ground")
    for i in range(1, storeys + 1):
        zero, slip, floor = s.node("0"), s.node("1", f"drift{i}"), s.node("1", f"floor{i}")
        s.bond(last, zero, "tail")
        s.bond(zero, slip, "head")
        s.bond(zero, floor, "tail")
        s.hang(slip, f"C:k{i}", f"R:c{i}")
        s.hang(floor, f"I:m{i}")
        last = floor
    return s


def vectors():
    s = Sketch()
    one, two = s.node("1", "v", "hand"), s.node("1", "w", "hand.wrist")
    ratio = s.node("MTF", "J(q)", "hand")
    s.bond(one, ratio, "tail", size=3)
    s.bond(ratio, two, "tail", size=6)
    s.hang(one, "Se:F", "I:arm", group="hand")
    s.hang(two, "I:palm", "R:skin", group="hand.wrist")
    angle = s.node("ƒ", "kinematics", "hand")
    s.bond(angle, ratio, None, signal=True)
    return s


CLEAN = {
    "three_mass": chain(3),
    "ten_mass": chain(10),
    "ten_mass_plain": chain(10, groups=False),
    "motor": motor(),
    "bridge": bridge(),
    "star": star(),
    "building": building(5),
    "vectors": vectors(),
}
ALL = CLEAN | {"pendulum": pendulum()}
