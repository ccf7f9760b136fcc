"""A document that uses all of the format."""

from __future__ import annotations

FULL = """\
# Comments are allowed.
recurl: 1
name: tour
start: {T.u1: 1/2, T.x: 0.5}
feature_names: [row, column]
components:
  T:
    entries: [u1, x]
    exits: u2
    boxes: {b1: S}
    vertices:
      u1:
        mono: {reward: -8, to: u2}
        divide: {reward: -0.5, to: b1}
      x:
        short: u2
      b1.u4:
        next: {to: {u2: 1}}
      b1.u5:
        yes: {to: [{target: u2, p: 1/2, reward: 1}, {target: u2, p: 1/2}], reward: 3}
        no: {to: {u2: {p: 1e0}}}
    features: {u1: [0, 1.5], u2: [1/2, -1e-3]}
    labels: {u1: "line 3", b1.u3: calls}
  S:
    entries: [u3]
    exits: [u4, u5]
    vertices:
      u3:
        reliable: {reward: -1.5, to: {u5: 0.3, u4: 0.7}}
        x: {to: {u5: {p: 1/3, reward: 2}, u4: 2/3}}
"""
