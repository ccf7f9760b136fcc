from __future__ import annotations

from recurl.programs.summaries import Call, Leave, Summaries, Way


def test_a_call_continues_only_behind_exits_of_its_entry() -> None:
    # Entry 0 calls entry 10, entry 1 calls entry 20; 10 leaves by 1, 20 by 2.
    ways: dict[int, Way] = {
        0: Call(10, lambda k: 100 + k),
        1: Call(20, lambda k: 200 + k),
        10: [11],
        11: Leave(1),
        20: Leave(2),
        101: Leave(5),
        202: Leave(6),
    }
    walk = Summaries(ways.__getitem__)
    walk.explore([0, 1])
    assert walk.exits == {0: {5: None}, 1: {6: None}, 10: {1: None}, 20: {2: None}}
    assert walk.reached[0] == {0, 101}


def test_recursion_feeds_its_own_exits() -> None:
    # 0 calls itself, or leaves by 0; behind exit k < 3 it leaves by k + 1.
    def step(node: int) -> Way:
        if node == 0:
            return [1, 2]
        if node == 1:
            return Call(0, lambda k: 10 + k)
        return Leave(0) if node == 2 else Leave(min(node - 10 + 1, 3))

    walk = Summaries(step)
    walk.explore([0])
    assert list(walk.exits[0]) == [0, 1, 2, 3]
