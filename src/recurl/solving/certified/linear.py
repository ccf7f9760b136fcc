"""Linear equations of all contexts: inside each by an inverse, across contexts by visits.

With actions fixed, and calls returning at their exits with known shares, the values of a context
solve ``(I - J) x = b``. What calls add from outside couples contexts through their entries only.
Nothing rests on the solutions: they are steps of Newton's method, and results are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np

from recurl.linear.systems import chosen_lines, factors, solve_dense
from recurl.model.tables import Floats
from recurl.solving.budget import check_time

if TYPE_CHECKING:
    from recurl.solving.certified.contexts import Contexts
    from recurl.solving.certified.problem import Component

_DENSE = 128
"""States of a component up to which inverses are kept whole."""
_AT_ONCE = 2**18
"""Numbers in the inverses that are computed at once: more would leave the cache."""
_WHOLE = 24
"""Rows up to which a matrix is inverted as a whole."""
_SMALL = 100
"""Unknowns up to which solving for all of them at once costs less than a few products."""


_LIMIT = 36
_STRIKES = 12
_STALLED = 10
"""Steps in which the least residual has to halve, unless they are quick."""
_ALONE = 5
"""Steps in which contexts are solved by themselves, after one that leads away."""
_STALE = 0.1
_SAME = 1e-5
"""Difference of shares that is not worth computing an inverse again."""
_SHORT = 3e3
"""Expected steps up to which inverses in single precision do for Newton's method."""
_LEAK = 1e-6
"""Share of probabilities that is lost where they have no inverse as they are."""
_HOPELESS = 1e6
"""Times the least residual beyond which Newton's method is not followed."""
_NOISE = 4e-15
"""Relative change that rounding alone can keep up."""


class NewtonStep(Protocol):
    """A map applied to values by slot, and its slopes there.

    Attributes:
        target: What the values are mapped to.
    """

    target: Floats

    def update(self, inverses: Inverses, which: list[np.ndarray]) -> None:
        """Compute the inverses of some contexts of each component."""

    def correction(self, inverses: Inverses, residual: Floats) -> Floats:
        """The step of Newton's method, as far as the inverses are right."""


class Rest(NamedTuple):
    """Where a search for a fixed point came to rest.

    Attributes:
        values: The values with the least residual.
        step: The map there; None if it was never applied.
        residual: The residual there.
        found: Whether that is small enough.
    """

    values: Floats
    step: Any
    residual: float
    found: bool


@np.errstate(over="ignore", invalid="ignore")
def fixed_point(
    contexts: Contexts,
    apply: Callable[[Floats], NewtonStep],
    start: Floats,
    tolerance: float,
    inverses: Inverses,
    *,
    trusted: float = np.inf,
    stale: float = _STALE,
) -> Rest:
    """Values that a map moves by at most ``tolerance``, if some are found.

    Newton's method, in which the inverses of contexts are computed again only where those of
    earlier steps do not do. Where it leads away, some steps solve each context by itself.

    Args:
        contexts: The contexts.
        apply: The map.
        start: Where to begin.
        tolerance: Greatest difference that counts as none.
        inverses: Inverses to begin with.
        trusted: Residual of a context up to which its inverse is taken to be right at first.
        stale: Share of the last residual from which on a context's inverse is computed again.
    """
    if contexts.quick:
        trusted = stale = 0.0
    values = best = start
    reached: NewtonStep | None = None
    least, before, alone, strikes = np.inf, 10.0 * trusted, 0, 0
    history = [np.inf] * _STALLED
    for _ in range(_LIMIT):
        check_time()
        if not np.isfinite(values).all():
            break
        step = apply(values)
        contexts.applied += 1
        residual = step.target - values
        size, moved = _sizes(contexts, residual, step.target)
        if size < least:
            best, least, reached = values, size, step
        elif not alone:
            strikes += 1
            alone = _ALONE if strikes > 1 else 0
        history.append(least)
        stalled = least > 0.5 * history[-1 - _STALLED] and not contexts.quick
        if size <= tolerance or stalled or strikes > _STRIKES or not size < _HOPELESS * least:
            break
        worst = max(tolerance, 0.0 if alone else stale * before)
        step.update(inverses, [np.flatnonzero(own > worst) for own in moved])
        if alone:
            alone -= 1
            values = values + inverses.solve(residual)
        else:
            values = values + step.correction(inverses, residual)
        before = size
    return Rest(best, reached, least, least <= tolerance)


def _sizes(contexts: Contexts, residual: Floats, target: Floats) -> tuple[float, list[Floats]]:
    """The greatest residual beyond rounding, and that of each context."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(residual) - _NOISE * np.abs(target)
    if apart.ndim > 1:
        apart = apart.max(axis=1)
    moved = [contexts.view(apart, c).max(axis=0) for c in range(len(contexts.points))]
    return float(max(own.max(initial=0.0) for own in moved)), moved


class Inverses:
    """(I - J)^-1 of the contexts of every component, as of when they were last computed."""

    def __init__(self, contexts: Contexts) -> None:
        self.contexts = contexts
        self.blocks: list[Any] = [None] * len(contexts.points)
        steps = float(contexts.problem.steps.max(initial=0.0))
        self.kind = np.float32 if steps < _SHORT and not contexts.quick else np.float64

    def update(
        self,
        c: int,
        which: np.ndarray,
        action: np.ndarray,
        share: Floats,
        same: float | None = None,
    ) -> None:
        """Compute the inverses of some contexts of a component, of all if none are known yet.

        Args:
            c: The component.
            which: The contexts.
            action: Action of each state, counted within the component. ``[states, X]``
            share: Where calls return. ``[calls, X, K]``
            same: Difference of shares up to which the inverses of equal actions stay; as much as
                is not worth the effort if not given.
        """
        part, count = self.contexts.parts[c], int(self.contexts.count[c])
        if self.blocks[c] is None:
            self.blocks[c], which = block_of(part, count, self.kind), np.arange(count)
        elif len(which):
            same = (0.0 if self.contexts.quick else _SAME) if same is None else same
            which = which[self.blocks[c].differs(which, action, share, same)]
        if len(which):
            self.blocks[c].update(which, action[:, which], share[:, which])

    @property
    def known(self) -> bool:
        """Whether there are inverses of all components."""
        return all(block is not None for block in self.blocks)

    def copy(self) -> Inverses:
        """The same, to be changed."""
        return self.carried(self.contexts, [np.arange(n) for n in self.contexts.count])

    def carried(self, contexts: Contexts, near: list[np.ndarray]) -> Inverses:
        """For other contexts, each with the inverse of one of these."""
        other = Inverses(contexts)
        other.blocks = [
            block and block.taken(own) for block, own in zip(self.blocks, near, strict=True)
        ]
        return other

    def correction(self, residual: Floats, outside: Any) -> Floats:
        """D with (I - J) d = residual, if d at entries adds ``outside`` d at calls."""
        visits, first = self.visits(), self.at_entries(residual)
        small = first.size <= _SMALL
        through = (visits @ outside.toarray()) if small else visits @ outside
        right = residual.copy()
        right[self.contexts.call_slots] += outside @ solve_from_identity(through, first)
        return self.solve(right)

    def at_entries(self, right: Floats) -> Floats:
        """The solution at entries only, by entry number."""
        out = np.empty((int(self.contexts.entry_base[-1]), *right.shape[1:]))
        for c, block in enumerate(self.blocks):
            given = self.contexts.view(right, c)
            self.contexts.view_entries(out, c)[:] = np.einsum(
                "xev,vx...->ex...", block.entry_rows(), given
            )
        return out

    def solve(self, right: Floats) -> Floats:
        """Solution for right sides by slot, with any further columns."""
        out = np.empty_like(right)
        for c, block in enumerate(self.blocks):
            self.contexts.view(out, c)[:] = block.solve(self.contexts.view(right, c))
        return out

    def visits(self) -> Any:
        """Expected visits of each call from each entry: a matrix by entry and call number."""
        from scipy.sparse import csr_array

        ctx = self.contexts
        values = [
            block.entry_rows()[:, :, part.calls].swapaxes(0, 1).ravel()
            for block, part in zip(self.blocks, ctx.parts, strict=True)
        ]
        shape = (int(ctx.entry_base[-1]), int(ctx.call_base[-1]))
        return csr_array((np.concatenate(values), *ctx.calls_by_entry), shape=shape)


class _Block:
    """The contexts of one component, and the equations that their inverses were computed for."""

    def __init__(self, part: Component, count: int) -> None:
        self.part = part
        self.action = np.full((len(part.states), count), -1)
        self.share = np.zeros((len(part.calls), count, part.returns.shape[1]))

    def remember(self, which: np.ndarray, action: np.ndarray, share: Floats) -> None:
        self.action[:, which], self.share[:, which] = action, share

    def differs(
        self, which: np.ndarray, action: np.ndarray, share: Floats, same: float
    ) -> np.ndarray:
        """Whether the equations of some contexts are others by now."""
        other: np.ndarray = (self.action[:, which] != action[:, which]).any(axis=0)
        apart = np.abs(self.share[:, which] - share[:, which])
        other |= (apart > same).any(axis=(0, 2))
        return other

    def taken(self, which: np.ndarray) -> Self:
        """For other contexts, each like one of these."""
        other = type(self)(self.part, 0)
        other.action, other.share = self.action[:, which], self.share[:, which]
        return other


def block_of(part: Component, count: int, kind: type = np.float64) -> Any:
    """Room for the inverses of a number of contexts of a component; floats of which kind."""
    return _Dense(part, count, kind) if len(part.states) <= _DENSE else _Sparse(part, count)


class _Dense(_Block):
    """Inverses of what the actions alone do, and how the returns of calls change them.

    Actions seldom change, and shares at every step. For a right side r let y solve the equations of
    the states with calls worth r alone, and let G say how states rise with calls, S what a return
    is worth to its call. Then calls are worth z = (I - S G)^-1 S y more, and states y + G z.

    Attributes:
        moves: Probabilities from actions to vertices, states before all others.
        rows: How much a state rises with the right side of each vertex, calls returning nothing,
            in the same order. ``[X, states, vertices]``
        through: The inverse of I - S G. ``[X, calls, calls]``
        entry: The rows of the entries, returns included. ``[X, E, vertices]``
    """

    def __init__(self, part: Component, count: int, kind: type = np.float64) -> None:
        super().__init__(part, count)
        calls = len(part.calls)
        self.moves: np.ndarray = part.states_first.astype(kind, copy=False)
        self.rows: np.ndarray = np.zeros((count, len(part.states), part.size), kind)
        self.through: np.ndarray = np.zeros((count, calls, calls), kind)
        self.entry: np.ndarray = np.zeros((count, part.entries, part.size), kind)

    def update(self, which: np.ndarray, action: np.ndarray, share: Floats) -> None:
        other = np.flatnonzero((self.action[:, which] != action).any(axis=0))
        self.remember(which, action, share)
        some = max(1, _AT_ONCE // self.rows[0].size)
        for i in range(0, len(other), some):
            own = other[i : i + some]
            self.rows[which[own]] = self._inverted(action[:, own])
        part, calls = self.part, self.part.calls_after_states
        back = self._returned(which, self.rows[which[:, None, None], part.return_states])
        self.through[which] = _inverse(np.eye(len(calls), dtype=back.dtype) - back[:, :, calls])
        entry = self.rows[which[:, None], part.entry_states]
        entry += entry[:, :, calls] @ (self.through[which] @ back)
        self.entry[which[:, None], :, part.order] = entry.transpose(0, 2, 1)

    def _inverted(self, action: np.ndarray) -> np.ndarray:
        """Rows of some contexts."""
        n = len(self.part.states)
        rows: np.ndarray = self.moves[action.T]
        matrix = -rows[:, :, :n]
        matrix[:, np.arange(n), np.arange(n)] += 1.0
        rows[:, :, :n] = inverse = _inverse(matrix)
        rows[:, :, n:] = inverse @ rows[:, :, n:]
        return rows

    def _returned(self, which: np.ndarray | slice, after: np.ndarray) -> np.ndarray:
        """Worth of calls, from that of their return ports: ``[X, calls, K, columns]``."""
        share = self.share[:, which].swapaxes(0, 1).astype(self.rows.dtype)
        found: np.ndarray = (share[:, :, None] @ after)[:, :, 0]
        return found

    def taken(self, which: np.ndarray) -> Self:
        other = super().taken(which)
        other.moves, other.rows = self.moves, self.rows[which]
        other.through, other.entry = self.through[which], self.entry[which]
        return other

    def solve(self, right: Floats) -> Floats:
        part = self.part
        out = right.reshape(*right.shape[:2], -1).copy()
        given = np.ascontiguousarray(out[part.order].swapaxes(0, 1), self.rows.dtype)
        own = self.rows @ given
        more = self.through @ self._returned(slice(None), own[:, part.return_states])
        own += self.rows[:, :, part.calls_after_states] @ more
        out[part.states] = own.swapaxes(0, 1)
        out[part.calls] += more.swapaxes(0, 1)
        return out.reshape(right.shape)

    def entry_rows(self) -> Floats:
        return self.entry.astype(np.float64, copy=False)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of each matrix; where there is none, the next best."""
    try:
        return _inverse_by_halves(matrix)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix))


def _inverse_by_halves(matrix: np.ndarray) -> np.ndarray:
    """The inverse of each matrix ``I - P`` with P >= 0, mostly by products, which are quicker.

    Elimination needs no pivots there.
    """
    n = matrix.shape[-1]
    if n <= _WHOLE:
        return np.asarray(np.linalg.inv(matrix))
    half = n // 2
    first = _inverse_by_halves(matrix[:, :half, :half])
    left, right = matrix[:, half:, :half] @ first, first @ matrix[:, :half, half:]
    last = _inverse_by_halves(matrix[:, half:, half:] - left @ matrix[:, :half, half:])
    found: np.ndarray = np.empty_like(matrix)
    found[:, half:, half:] = last
    found[:, :half, half:] = -(right @ last)
    found[:, half:, :half] = -(last @ left)
    found[:, :half, :half] = first - found[:, :half, half:] @ left
    return found


class _Sparse(_Block):
    """Factors of sparse matrices, one per context."""

    def __init__(self, part: Component, count: int) -> None:
        super().__init__(part, count)
        self.factors: list[Any] = [None] * count
        self.rows: list[Floats | None] = [None] * count

    def update(self, which: np.ndarray, action: np.ndarray, share: Floats) -> None:
        from scipy.sparse import csr_array

        self.remember(which, action, share)
        part = self.part
        place = np.broadcast_to(part.calls[:, None], part.returns.shape)[part.inside]
        back, shape = part.returns[part.inside], (part.size, part.size)
        for i, x in enumerate(which):
            chosen = chosen_lines(part.matrix, action[:, i])
            state = np.repeat(part.states, np.diff(chosen.indptr))
            ends = np.append(state, place), np.append(chosen.indices, back)
            values = np.append(chosen.data, share[:, i][part.inside])
            matrix = csr_array((values, ends), shape=shape)
            self.factors[x] = factors(matrix, leak=_LEAK)
            self.rows[x] = None

    def taken(self, which: np.ndarray) -> Self:
        other = super().taken(which)
        other.factors, other.rows = ([own[x] for x in which] for own in (self.factors, self.rows))
        return other

    def solve(self, right: Floats) -> Floats:
        out = np.empty_like(right)
        for x, factor in enumerate(self.factors):
            out[:, x] = factor.solve(np.ascontiguousarray(right[:, x]))
        return out

    def entry_rows(self) -> Floats:
        unit = np.eye(self.part.size, self.part.entries)
        for x, factor in enumerate(self.factors):
            if self.rows[x] is None:
                self.rows[x] = factor.solve(unit, trans="T").T
        return np.array(self.rows)


def solve_from_identity(matrix: Any, right: Floats, rtol: float = 1e-5) -> Floats:
    """D with d - matrix d = right, nearly; ``right`` itself where none is found."""
    flat = right.ravel()
    if flat.size <= _SMALL:
        whole = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        found = solve_dense(np.eye(flat.size) - whole, flat)
    else:
        found = _solve_nearly(matrix, flat, rtol)
    if found is None or not np.isfinite(found).all():
        return right
    return found.reshape(right.shape)


def _solve_nearly(matrix: Any, right: Floats, rtol: float) -> Floats:
    """By products with the matrix alone."""
    from scipy.sparse.linalg import LinearOperator, gmres

    size = right.size
    apart = LinearOperator((size, size), matvec=lambda x: x - matrix @ x, dtype=float)
    found: Floats = gmres(apart, right, rtol=rtol, atol=0.0, restart=40, maxiter=4)[0]
    return found
