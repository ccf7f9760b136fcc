"""Records as rows of one array: many small arrays take longer to hand around than to use."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

Part = tuple[int, ...]
"""Shape of a part of a record."""


def width(parts: Iterable[Part]) -> int:
    """How many columns the parts take.

    Example:
        >>> width([(), (2, 3), (0,)])
        7
    """
    return sum(map(math.prod, parts))


def cut(table: Any, parts: Iterable[Part]) -> list[Any]:
    """The parts of the records in a table, a view of each: numpy's or the device's.

    Example:
        >>> import numpy as np
        >>> [part.tolist() for part in cut(np.array([[1, 2, 3], [4, 5, 6]]), [(), (2,)])]
        [[1, 4], [[2, 3], [5, 6]]]
    """
    found, first = [], 0
    for part in parts:
        last = first + math.prod(part)
        found.append(table[:, first:last].reshape(len(table), *part))
        first = last
    return found
