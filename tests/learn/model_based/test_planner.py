"""Plans in known models find their optima."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

import recurl
from recurl.learn.model_based.contexts import Beliefs
from recurl.learn.model_based.counts import CALL, EXIT, LEAVE, STEP, OutcomeCounts
from recurl.learn.model_based.estimate import estimate
from recurl.learn.model_based.planner import Planner
from recurl.learn.model_based.world import World
from recurl.model.tables import CALLS, EXITS


def exact_counts(model, samples=1000):
    """Counts that have the probabilities of a model."""
    t = model.tables
    counts = OutcomeCounts(spaces.Discrete(t.n_vertices), spaces.Discrete(t.max_actions))
    called = set(t.box_component.tolist())
    for vertex in np.flatnonzero(t.states).tolist():
        size = t.action_start[vertex + 1] - t.action_start[vertex]
        counts.visit(vertex, (np.arange(t.max_actions) < size).astype(np.int8))
    for vertex in t.starts.tolist():
        counts.begin(counts.state(vertex))
    for a in range(t.n_actions):
        vertex = int(t.action_vertex[a])
        pair = counts.pairs_of[counts.state(vertex)][a - t.action_start[vertex]]
        for k in range(t.transition_start[a], t.transition_start[a + 1]):
            times = max(1, round(samples * t.prob[k]))
            kind, target, box = STEP, int(t.landing[k]), -1
            if t.move[k] == CALLS:
                ports = model.return_ports(int(t.move_box[k]))
                kind, target = CALL, counts.state(target)
                box = counts.find_box([counts.state(port) for port in ports], target)
            elif t.move[k] == EXITS:
                inside = int(t.vertex_component[vertex]) in called
                kind, target = (EXIT, target) if inside else (LEAVE, 0)
            else:
                target = counts.state(target)
            counts.add(pair, kind, target, box, times * float(t.reward[k]), times)
    return counts


@pytest.mark.parametrize(
    ("model", "optimum"),
    [
        (recurl.zoo.cloud(), -5.3425),
        (recurl.zoo.stack_matters(), 0.7818),
        (recurl.zoo.leaky_pfa(), 0.6379),
        (recurl.zoo.battery(), 0.9044),
        (recurl.zoo.frozen_lake(), 0.1098),
        (recurl.zoo.palindrome(), 41.0326),
    ],
    ids=["cloud", "stack_matters", "leaky_pfa", "battery", "frozen_lake", "palindrome"],
)
def test_plans_find_the_optimum(model, optimum):
    counts, t = exact_counts(model), model.tables
    beliefs = Beliefs(0.9999, 0.0, optimistic=False, earnings=float(np.abs(t.reward).max()))
    planner = Planner(beliefs, most=100, aside=2)
    planner.begin(counts.state(int(t.starts[0])))
    planner.plan(counts, 60, 6, 1e-4 * beliefs.earnings)
    prob = t.start_prob[t.start_prob > 0]
    values = [planner.root.values[counts.state(int(start))] for start in t.starts]
    assert prob @ values == pytest.approx(optimum, rel=0.01)


def test_parts_have_the_frequencies_and_the_unknown():
    counts = exact_counts(recurl.zoo.gambler(p=0.25))
    world = World(counts, prior=250.0, gamma=1.0)
    weights = world.matrix.toarray()
    assert weights.sum(axis=1) == pytest.approx(1.0)
    assert weights[:, -1] == pytest.approx(0.2)
    assert world.gain[0] == pytest.approx(0.8)
    assert [len(part.boxes) for part in world.parts] == [2]


def test_ends_of_runs_are_shared_among_the_exits_that_were_named():
    counts = OutcomeCounts(spaces.Discrete(9), spaces.Discrete(1))
    counts.begin(counts.visit(0, None))
    box = counts.find_box([counts.state(1), counts.state(2)], 0)
    counts.add(0, CALL, 0, box, 0.0, 2)
    counts.add(0, EXIT, 0, -1, 0.0, 1)
    counts.add(0, EXIT, 1, -1, 0.0, 3)
    counts.add(0, LEAVE, 0, -1, 0.0, 4)
    world = World(counts, prior=0.0, gamma=1.0)
    row = world.matrix.toarray()[0]
    assert row[world.parts[0].own_exits].tolist() == pytest.approx([0.2, 0.6, 0.0, 0.0])


def test_drawn_weights_keep_the_tries_and_single_outcomes():
    counts = OutcomeCounts(spaces.Discrete(9), spaces.Discrete(2))
    counts.begin(counts.visit(0, None))
    for target, times in ((1, 30), (2, 10)):
        counts.add(0, STEP, counts.visit(target, None), -1, 0.0, times)
    counts.add(1, STEP, 0, -1, 5.0, 3)
    drawn = []
    for seed in range(200):
        made = estimate(counts, 1.0, np.random.default_rng(seed))
        drawn.append(np.multiply(made.weight, counts.count))
    assert np.sum(drawn, axis=1) == pytest.approx(43.0)
    assert np.array(drawn)[:, 2] == pytest.approx(3.0)
    # Dirichlet(30, 10): mean 0.75, standard deviation 0.068, in samples 2.7.
    assert np.mean(drawn, axis=0)[0] == pytest.approx(30.0, abs=1.0)
    assert np.std(drawn, axis=0)[0] == pytest.approx(2.7, abs=0.5)
