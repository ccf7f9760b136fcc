"""A run that saves itself often; started by a test, which kills it."""

from __future__ import annotations

import sys
from pathlib import Path

import recurl

STEPS = 60_000


def learner(path: Path) -> recurl.RecursiveQLearning:
    model = recurl.zoo.cloud()
    if path.exists():
        return recurl.RecursiveQLearning.load(path, model)
    return recurl.RecursiveQLearning(
        model, preset="swift", episode_limit=200, evaluate_every=500, evaluate_episodes=10
    )


def main(path: Path) -> None:
    one = learner(path)
    print("running", flush=True)
    one.learn(STEPS - one.steps, checkpoint=path)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
