from __future__ import annotations

from tests.programs.written import program_of


def test_comments_and_docstrings_survive() -> None:
    text = """
    # What f is for.
    @program
    def f(n):  # n is small
        \"\"\"Do it.

        Twice.
        \"\"\"
        # first

        x = 1  # one
        if n > 1:  # big
            reward(x)
            # at the end of big
        # otherwise
        elif n == 1:
            reward(  # inside
                choose(1, 2)
            )
        else:  # small
            reward(0)
        # before the loop
        for i in range(n):  # each
            # within
            reward(-i)
        else:  # done
            pass
        return x  # bye
        # the end
    """
    found = program_of(text).solve(1).source()
    expected = """
# What f is for.
def f(n):  # n is small
    \"\"\"Do it.

    Twice.
    \"\"\"
    # first

    x = 1  # one
    if n > 1:  # big
        reward(x)
        # at the end of big
    # otherwise
    elif n == 1:
        # inside
        reward(2)
    else:  # small
        reward(0)
    # before the loop
    for i in range(n):  # each
        # within
        reward(-i)
    else:  # done
        pass
    return x  # bye
"""
    assert found[found.index("# What f") :].strip() in (
        expected.strip(),
        expected.strip() + "\n    # the end",
    )


def test_cases_keep_their_text() -> None:
    text = """
    @program
    def f(n):
        match (n, choose(1, 2)):
            case (1, (2 | 3)) if n > 0:  # here
                reward(1)
            case {"a": _} | (0, _):
                pass
    """
    found = program_of(text).solve(1).source()
    assert "        case (1, (2 | 3)) if n > 0:  # here\n            reward(1)\n" in found
    assert '        case {"a": _} | (0, _):\n' in found
