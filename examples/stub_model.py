"""A stub of a language model that sorts words, and is wrong as often as a table says."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from answer_table import Row


@dataclass(frozen=True)
class Reply:
    """An answer, and the tokens that it took."""

    text: str
    tokens: int


class ChatModel(Protocol):
    """The interface that the agent needs; wrap a real model in it to use one."""

    def complete(self, prompt: str) -> Reply:
        """Answer a prompt."""
        ...


class StubModel:
    """Answers `Sort: ...`, `Split: ...` and `Merge: ... | ...`.

    A list of `words` words is a question of depth 0, half of it one of depth 1, and so on.
    """

    def __init__(self, table: tuple[Row, ...], words: int, seed: int = 0) -> None:
        self.table, self.words, self.random = table, words, random.Random(seed)

    def complete(self, prompt: str) -> Reply:
        task, _, text = prompt.partition(": ")
        words = text.replace(" | ", " ").split()
        depth = (self.words // len(words)).bit_length() - 1
        row = self.table[min(depth, len(self.table) - 1)]
        if task == "Split":
            half = len(words) // 2
            parts = " ".join(words[:half]), " ".join(words[half:])
            return Reply(" | ".join(parts), 1000 * row.split_tokens)
        if task == "Merge":
            return Reply(self._sorted(words, row.join_accuracy), 0)
        return Reply(self._sorted(words, row.accuracy), 1000 * row.tokens)

    def _sorted(self, words: list[str], accuracy: float) -> str:
        """The words in order; or, if the model errs, with the first two swapped."""
        done = sorted(words)
        if self.random.random() >= accuracy:
            done[:2] = done[1::-1]
        return " ".join(done)


def is_sorted(text: str, words: list[str]) -> bool:
    """The check of an answer: the same words, in order."""
    return text.split() == sorted(words)
