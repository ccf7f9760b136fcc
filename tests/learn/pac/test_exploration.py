"""What both ways to learn an environment share."""

from __future__ import annotations

from pathlib import Path

from tests.learn.pac.foreign import Gamble

from recurl.learn.pac.episodes import Episodes
from recurl.learn.pac.exploration import Exploration
from recurl.learn.pac.generative import Generative
from recurl.learn.pac.one_exit import Task

TASK = Task(1.0, 0.1, steps=6, reward_bound=1, support=2, starts=1, seed=3)


def test_access_chooses_the_way_to_sample() -> None:
    assert isinstance(Exploration(Gamble(), TASK, "generative", None).sampler, Generative)
    assert isinstance(Exploration(Gamble(), TASK, "episodes", 0.5).sampler, Episodes)


def test_numbers_name_what_the_statement_rests_on() -> None:
    plain = Exploration(Gamble(), TASK, "episodes", None)
    plain.sampler.more(None, 10**6)
    numbers = plain.numbers()
    assert numbers["Bound K on expected steps, given"] == 6
    assert numbers["States discovered"] == numbers["Pairs discovered"] == 3
    # The start, which is called too, and what follows its two calls, belong to one component.
    assert numbers["Exits"] == "1 discovered, 1 of them taken"
    assert Exploration(Gamble(), TASK, "episodes", 0.5).numbers()["Discount"] == 0.5


def test_what_is_drawn_after_a_pause_does_not_repeat_what_was_drawn(tmp_path: Path) -> None:
    task = Task(1.0, 0.1, 6, 1, support=2, starts=1, checkpoint=tmp_path / "seen")
    runs = []
    for _ in range(2):
        run = Exploration(Gamble(), task, "episodes", None)
        before = list(run.atlas.pairs[0].counts) if run.atlas.pairs else [0, 0]
        run.sampler.more(None, run.atlas.samples + 500)
        runs.append([new - old for new, old in zip(run.atlas.pairs[0].counts, before, strict=True)])
        run.save()
    assert runs[0] != runs[1]
