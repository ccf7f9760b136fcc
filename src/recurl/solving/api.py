"""`solve`: one door to all methods."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recurl.arguments import with_known_names
from recurl.errors import LimitError, NotProperError, QuestionError, UnknownNameError
from recurl.linear.systems import one_blas_thread
from recurl.model.rmdp import require_model
from recurl.model.tables import EXIT
from recurl.model.transforms.starting import place_of, start_at
from recurl.progress import Progress
from recurl.solving.budget import SPENT, TimeUpError, budget
from recurl.solving.discounted import (
    discounted_model,
    discounts,
    too_large,
    undiscounted_policy,
)
from recurl.solving.question import Question
from recurl.solving.solution import History, Solution

if TYPE_CHECKING:
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.solving.one_exit_search import Callback

ONE_EXIT = ("linear-program", "policy-iteration", "value-iteration")
"""Methods for 1-exit models."""
_RARE, _FEW = 1e-6, 20_000
"""Probabilities that get bounds of their own size, up to this share of it, in models with at most
this many vertices."""
ANY = ("certified",)
"""Methods for all models."""


@with_known_names
@one_blas_thread()
def solve(
    model: RMDP,
    method: str = "auto",
    epsilon: float = 1e-6,
    *,
    objective: str = "max",
    of: str | Question = "reward",
    endless: str | None = None,
    start: str | None = None,
    stack: Sequence[str] = (),
    exit_values: Sequence[float] | None = None,
    at_least: float | None = None,
    gamma: float | str | None = 1,
    count: str = "actions",
    box_gamma: float | str | None = 1,
    near: Sequence[Floats] = (),
    seconds: float | None = None,
    memory: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Solution:
    """The greatest or least expected total of a model, in an interval that surely contains it.

    Solves ``x(v, ex) = v[ex]``, ``x(v, (b, en)) = x(v', en)`` with ``v'[ex] = x(v, (b, ex))``, and
    ``x(v, q) = max_a sum p (r + x(v, q'))`` for exits worth v = 0, or the `exit_values` given, from
    the start of the model or from any vertex. 1-exit models need no v.

    Args:
        model: The model.
        method: ``"auto"`` picks one by the model's kind and size, and says why. For 1-exit models:
            ``"policy-iteration"``, ``"value-iteration"``, ``"linear-program"``. For all:
            ``"certified"``, the search with two-sided bounds.
        epsilon: Width of the interval to reach, absolute.
        objective: ``"max"`` or ``"min"``.
        of: ``"reward"``, ``"steps"``, or ``"exit:NAME"`` for the probability to leave by that exit
            of the start component. ``"reward given end"`` is the reward of the runs that end; with
            choices, and policies that may not end, its interval may be wide. A `Question` says it
            all: what to add up, what exits are worth, `objective` and `endless`.
        endless: What a run that does not end is worth: ``"inf"`` or ``"-inf"``, and with it every
            policy under which runs may not end. None for what such runs collect. The least cost of
            policies that surely end is ``objective="min", endless="inf"``.
        start: Full name of the vertex where runs start, in any component; None for the start of the
            model. The model of the solution is then ``start_at(model, start, stack)``.
        stack: Full names of the boxes pending there, outermost first; see `start_at`.
        exit_values: What each exit is worth at the end of a run: those of the component in which
            runs start, with a stack those of its outermost box's component. 0 if not given.
        at_least: Stop as soon as the interval tells whether the optimum reaches this threshold.
        gamma: Discount of each step, in (0, 1]; below 1, solves ``discount_steps(model, gamma)``,
            which is the model of the solution and of its certificate. The policy is one for the
            model given. Discounted totals are always finite.
        count: What the discount counts, ``"actions"`` or, as in the paper, ``"moves"``; see
            `discount_steps`.
        box_gamma: Discount by boxes of a 1-exit model, in (0, 1]; below 1, solves
            ``discount_boxes(model, box_gamma)`` instead: x(q) = max_a sum p (r + box_gamma x(q')).
            Totals need not be finite; where they are not, the reason says how small it must be.
        near: The ``points`` of the solution of a similar model, to begin with. A search for several
            exits may take less time then; what it proves rests on this model alone.
        seconds: Time that it may take, about; the best interval that is proved by then is the
            answer. None for no limit, but 300 seconds for ``"certified"``.
        memory: Most bytes, about, for the arrays of one step; None for what is free on the machine.
        callback: Called as ``callback(lower, upper, work)`` with every new interval.
        progress: Show a line with the rounds and the interval so far.

    Raises:
        TypeError: It is not a model, or `near` are not points.
        UnknownNameError: The method, objective, exit, vertex or box is unknown; the known ones are
            listed.
        QuestionError: Start, exit values or discount do not fit the model or the question.
        ModelError: The discount is one by boxes, and a component has several exits.
        NotProperError: Some policy does not end, none that ends was found, and rewards have both
            signs: nothing is known of the optimum.
        LimitError: It takes more memory than allowed, and nothing is known of the optimum.

    Example:
        >>> import recurl
        >>> solution = solve(recurl.zoo.cloud(exits=1))
        >>> round(solution.value, 6), solution.gap <= 1e-6
        (-5.3425, True)
        >>> solution.policy.action_name("S.u3")
        'reliable'

        Inside ``H``, where leaving by its second exit is worth 1 more:

        >>> round(solve(recurl.zoo.cloud(), start="H.u5", exit_values=[0, 1]).value, 6)
        0.8
    """
    require_model(model, "solve")
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon is the width of an interval and must be positive, not {epsilon}")
    if at_least is not None and math.isnan(at_least):
        raise ValueError("at_least must be a number, not nan")
    for name, limit in (("seconds", seconds), ("memory", memory)):
        if limit is not None and not limit > 0:
            raise ValueError(f"{name} is a limit and must be positive, not {limit}")
    discounted = discounts(gamma, box_gamma)
    if start is not None:
        steps = of == "steps" or (isinstance(of, Question) and of.rewards == "steps")
        ports = discounted and (count == "moves" or discounts(1, box_gamma))
        model = _started(model, start, stack, steps=steps or discounted, ports=ports)
    elif len(stack):
        raise QuestionError("a stack is that of a start: name its vertex too (start, --start)")
    undiscounted = model
    question = question_of(model, of, objective, endless, exit_values)
    if discounted:
        paid = question.rewards if isinstance(of, Question) else of
        model = discounted_model(
            model, gamma, "reward" if question.rewards == "model" else paid, count, box_gamma
        )
        if model.tables.n_vertices > undiscounted.tables.n_vertices:
            if question.endless is not None:
                raise QuestionError("with a discount (gamma) every run ends: leave out endless")
            question = question.with_lane()
    asked = question
    kernel = _answering(_solver(model, method, _points(near)))
    if asked.endless is not None:
        from recurl.solving.endless import solve_endless

        kernel = partial(solve_endless, kernel)
    elif method in ("auto", *ANY):
        kernel = partial(_stopping, kernel, method)
    from recurl.solving.scaled import solve_scaled

    with (
        _shown(model, callback) if progress else nullcontext(callback) as told,
        budget(seconds, memory),
    ):
        history = History(told)
        try:
            if asked.rewards == "given end":
                from recurl.solving.structure import solve_given_end

                if (ending := solve_given_end(model, asked)) is not None:
                    return ending
                question = replace(asked, rewards="model")
            found = solve_scaled(
                kernel, model, question, epsilon, at_least=at_least, callback=history
            )
        except (*SPENT, MemoryError) as error:
            found = _unfinished(model, question, history, error)
        except NotProperError as error:
            if (why := too_large(undiscounted, box_gamma)) is None:
                raise
            raise NotProperError(f"{why}. {error}") from None
    infinite = math.isinf(found.lower) or math.isinf(found.upper)
    if infinite and (why := too_large(undiscounted, box_gamma)) is not None:
        found = replace(found, reason=f"{found.reason}; {why}")
    if discounted and found.policy is not None:
        found = replace(found, policy=undiscounted_policy(found.policy, undiscounted))
    if at_least is None and not found.gap <= epsilon and "narrow" not in found.reason:
        reason = f"{found.reason}; the interval is not as narrow as asked, {epsilon:g}"
        found = replace(found, reason=reason)
    seconds = history.seconds
    intervals = (*history.intervals, (seconds, found.lower, found.upper))
    return replace(
        found,
        question=asked,
        epsilon=epsilon if at_least is None else None,
        seconds=seconds,
        history=intervals,
    )


def _unfinished(model: RMDP, question: Question, history: History, error: Exception) -> Solution:
    """The best interval that is known when time or memory ends.

    Raises:
        LimitError: Memory ended, and nothing is known.
    """
    least, most = -math.inf, math.inf
    if question.rewards != "given end":
        least, most = question.clear_bounds(model)
    low = max([least, *(low for _, low, _ in history.intervals)])
    high = min([most, *(high for _, _, high in history.intervals)])
    reason = str(error)
    if isinstance(error, MemoryError):
        reason = (
            f"there is not enough memory ({error or 'none is left'}): "
            "a model with fewer exits or vertices takes less"
        )
    if not isinstance(error, TimeUpError) and math.isinf(low) and math.isinf(high):
        raise LimitError(f"{model.name}: {reason}") from error
    return Solution(model, question, low, high, "stopped early", reason)


@contextmanager
def _shown(model: RMDP, callback: Callback | None) -> Iterator[Callback]:
    """A callback that shows intervals in a line, and passes them on."""
    with Progress(f"solving {model.name}") as shown:

        def tell(lower: float, upper: float, work: dict[str, float]) -> None:
            shown.interval(lower, upper, work)
            if callback is not None:
                callback(lower, upper, work)

        yield tell


def _started(model: RMDP, start: str, stack: Sequence[str], *, steps: bool, ports: bool) -> RMDP:
    """The model from another start, unless steps or passages through ports count that it lacks."""
    place, boxes = place_of(model, start, stack)
    if steps and model.tables.vertex_kind[place] == EXIT:
        raise QuestionError(f"at {start} the run is over: no steps, and the exit's own value")
    if ports and (boxes or model.find(start) != place):
        raise QuestionError(
            "box_gamma and count='moves' discount what passes through ports, and a run that starts "
            "inside a box passes through none of it: start outside, or discount actions by gamma"
        )
    return start_at(model, start, stack)


def question_of(
    model: RMDP,
    of: str | Question,
    objective: str = "max",
    endless: str | None = None,
    exit_values: Sequence[float] | None = None,
) -> Question:
    """The question that ``of`` asks, with the worth of exits.

    Example:
        >>> import recurl
        >>> question_of(recurl.zoo.cloud(), "steps", "min")
        Question(objective='min', rewards='steps', exit_values=(), endless=None)
    """
    if isinstance(of, Question):
        if objective != "max" or endless is not None or exit_values is not None:
            raise QuestionError("a Question has its own objective, endless and exit_values")
        _check_worth(model, of.exit_values or None)
        return of
    if of.startswith("exit:"):
        if endless is not None:
            raise QuestionError("endless goes with the total of rewards or of steps")
        if exit_values is not None:
            raise QuestionError("exit_values go with the total of rewards or of steps")
        return Question.leave_by(model, of.removeprefix("exit:"), objective)
    rewards = {"reward": "model", "steps": "steps", "reward given end": "given end"}
    if of not in rewards:
        raise UnknownNameError("total to solve for", of, [*rewards, "exit:NAME"])
    _check_worth(model, exit_values)
    worth = () if exit_values is None else tuple(exit_values)
    return Question(objective, rewards[of], worth, endless)


def _check_worth(model: RMDP, exit_values: Sequence[float] | None) -> None:
    """Refuse another number of exit values than there are exits where runs start."""
    t = model.tables
    exits = [model.local_name(v) for v in t.exits_of(t.start_component)]
    if exit_values is not None and len(exit_values) != len(exits):
        found, names = len(exit_values), ", ".join(exits)
        raise QuestionError(f"exit_values has {found} numbers, but must have one per exit: {names}")


def _answering(kernel: Callable[..., Solution]) -> Callable[..., Solution]:
    """A function that answers with what a policy earns where a method does not apply."""

    def answer(model: RMDP, question: Question, epsilon: float, **options: Any) -> Solution:
        try:
            return _relatively_narrow(kernel(model, question, epsilon, **options))
        except NotProperError as error:
            from recurl.solving.improper import one_sided

            return one_sided(model, question, epsilon, error)

    return answer


def _stopping(
    kernel: Callable[..., Solution],
    method: str,
    model: RMDP,
    question: Question,
    epsilon: float,
    **options: Any,
) -> Solution:
    """An answer that looks at free loops as places to stop, where it is not finite otherwise."""
    try:
        found = kernel(model, question, epsilon, **options)
    except NotProperError:
        if (stopped := _stopped(method, model, question, epsilon, **options)) is None:
            raise
        return stopped
    if question.rewards != "model" or math.isfinite(found.gap):
        return found
    stopped = _stopped(method, model, question, epsilon, **options)
    return found if stopped is None or math.isinf(stopped.gap) else stopped


def _stopped(
    method: str, model: RMDP, question: Question, epsilon: float, **options: Any
) -> Solution | None:
    from recurl.solving.stopped import solve_stopped

    def kernel(stopping: RMDP, asked: Question, *given: Any, **more: Any) -> Solution:
        return _answering(_solver(stopping, method, []))(stopping, asked, *given, **more)

    return solve_stopped(kernel, model, question, epsilon, **options)


def _relatively_narrow(found: Solution) -> Solution:
    """An answer that bounds the probability of a rare event by more than the rounding of 1."""
    model, question = found.model, found.question
    rare = (
        question.rewards == "none"
        and min(question.exit_values, default=0.0) >= 0
        and found.upper < _RARE
    )
    if not rare or found.gap <= _RARE * found.upper or model.tables.n_vertices > _FEW:
        return found
    from recurl.solving.leaving import solve_leaving

    other = solve_leaving(model, question)
    return found if other is None or other.gap >= found.gap else other


def _points(near: Sequence[Floats]) -> list[Floats]:
    """The points of a solution, as arrays."""
    try:
        return [np.asarray(own, np.float64) for own in near]
    except (TypeError, ValueError):
        raise TypeError("near takes the points of a solution: near=solution.points") from None


def _solver(model: RMDP, method: str, near: Sequence[Floats]) -> Callable[..., Solution]:
    """The function behind a method, for the kind of model at hand."""
    one_exit = model.kind.one_exit
    known = (*ANY, *ONE_EXIT) if one_exit else ANY
    if method != "auto" and method not in known:
        what = "method for a multi-exit model" if method in ONE_EXIT else "method"
        raise UnknownNameError(what, method, ["auto", *known])
    if method == "auto" and (model.kind.deterministic or not one_exit):
        from recurl.solving.structure import solve_by_structure

        return partial(solve_by_structure, near=near)
    if one_exit and method not in ANY:
        from recurl.solving.one_exit import solve_one_exit

        return partial(solve_one_exit, method=method)
    from recurl.solving.structure import solve_any

    return partial(solve_any, near=near)
