"""The progress bar: there if asked for, with rate and latest test."""

from __future__ import annotations

import pytest

import recurl


def test_it_shows_steps_rate_and_the_latest_test(capsys: pytest.CaptureFixture[str]) -> None:
    learner = recurl.RecursiveQLearning(recurl.zoo.cloud(), evaluate_every=1000)
    learner.learn(3000, progress_bar=True)
    shown = capsys.readouterr().out
    assert "steps/s" in shown
    assert f"greedy policy {learner.curve.last.mean:.4g}" in shown
    learner.learn(1000)
    assert capsys.readouterr().out == ""
