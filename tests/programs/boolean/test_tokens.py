from __future__ import annotations

import pytest

from recurl.errors import DocumentError
from recurl.programs.boolean.tokens import Token, tokens_of


def test_tokens_know_where_they_stand() -> None:
    found = tokens_of("x =\n  1/3; /* a\n comment */ y && 0.5 // end")
    assert found == [
        Token("name", "x", 1, 1),
        Token("sign", "=", 1, 3),
        Token("number", "1/3", 2, 3),
        Token("sign", ";", 2, 6),
        Token("name", "y", 3, 13),
        Token("sign", "&&", 3, 15),
        Token("number", "0.5", 3, 18),
        Token("end", "", 3, 28),
    ]
    assert found[0].shown == "'x'"
    assert found[-1].shown == "the end of the file"


def test_what_means_nothing_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError, match=r"prog\.bp: 1 problem:\n  line 2: '@' means nothing"):
        tokens_of("x\n @", "prog.bp")
