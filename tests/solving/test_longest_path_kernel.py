from __future__ import annotations

import numpy as np
from tests.solving.test_longest_path import ladder

import recurl
from recurl.solving.longest_path_kernel import longest_paths


def test_all_ways() -> None:
    model = ladder()
    t = model.tables
    order = np.arange(t.n_vertices, dtype=np.int32)
    best, choice, ended = longest_paths(t, t.reward, order, 100)
    assert ended
    assert best[model.find("A.in")].tolist() == [1, 5]
    assert choice[model.find("A.in")].tolist() == [0, 1]
    assert best[model.find("main.in")].tolist() == [11, 9]
    assert best[model.find("main.one.x")].tolist() == [10, -np.inf]


def test_sweeps_without_end_are_noticed() -> None:
    builder = recurl.Builder("round").component("A", entries="in", exits="out")
    builder.at("in").action("go").to("n")
    builder.at("n").action("round", reward=1).to("n").action("leave").to("out")
    t = builder.build().tables
    _, _, ended = longest_paths(t, t.reward, np.arange(t.n_vertices, dtype=np.int32), 50)
    assert not ended
