"""`program`: a recursive Python function with open choices."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from os import PathLike
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, TypedDict, Unpack, overload

from typing_extensions import ParamSpec, TypeVar

from recurl.errors import RecurlError
from recurl.programs.language import caller, current, running
from recurl.programs.play import Chooser, Play, Player
from recurl.programs.steps import STATES
from recurl.programs.syntax import Source, read_source

if TYPE_CHECKING:
    from recurl.learn.tabular import TabularLearner
    from recurl.model.rmdp import RMDP
    from recurl.model.tables import Floats
    from recurl.programs.code import Code
    from recurl.programs.completion import Completion
    from recurl.programs.live import Live, Observe
    from recurl.programs.unfold import Unfolded
    from recurl.solving.one_exit_search import Callback


class SolveOptions(TypedDict, total=False):
    """Options of `recurl.solve`, for those that pass them on."""

    method: str
    epsilon: float
    objective: str
    of: str
    endless: str | None
    at_least: float | None
    gamma: float | str | None
    count: str
    box_gamma: float | str | None
    near: Sequence[Floats]
    seconds: float | None
    memory: float | None
    callback: Callback | None
    progress: bool


P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)


class Program(Generic[P, R]):
    """A function with open choices; made by `program`.

    It can be compiled (`model`), completed (`solve`, `learn`), run with choices drawn at random
    (`play`), or learned while it does real work (`live`).

    Args:
        function: The function.
        source: Its source, if it does not come from a file.
        observe: What of its locals a live learner sees.
        returns: Results that a live learner distinguishes.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        source: Source | None = None,
        observe: Observe | None = None,
        *,
        returns: Sequence[Any] = (),
    ) -> None:
        self.function, self._source = function, source
        self.observe, self.returns = observe, tuple(returns)
        functools.update_wrapper(self, function)

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(self.function.__name__)

    @cached_property
    def source(self) -> Source:
        """The source of the function."""
        return self._source or read_source(self.function)

    @cached_property
    def code(self) -> Code:
        """The function, compiled block by block.

        Raises:
            ModelError: It does something that a model cannot express.
        """
        from recurl.programs.code import Code

        return Code(self.source)

    @cached_property
    def observed(self) -> Callable[[FrameType], Any]:
        """The locals of a frame that a live learner observes."""
        from recurl.programs.live import observer

        return observer(self.observe)

    @property
    def n_exits(self) -> int:
        """Number of results that a live learner distinguishes, all others being one more."""
        return len(self.returns) + 1 if self.returns else 1

    def exit_of(self, result: Any) -> int:
        """Index of a result among those that a live learner distinguishes.

        An exception that was raised is recognised by its type, if that is among them.
        """
        if isinstance(result, BaseException):
            kinds = (i for i, kind in enumerate(self.returns) if isinstance(kind, type))
            return next(
                (i for i in kinds if isinstance(result, self.returns[i])), len(self.returns)
            )
        return self.returns.index(result) if result in self.returns else len(self.returns)

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Call the function from another program, under the current runner."""
        runner = current(self.name)
        result: R = runner.call(self, arguments, named, caller())
        return result

    def __repr__(self) -> str:
        return f"<program {self.name}{inspect.signature(self.function)}>"

    def model(self, *arguments: Any, state_limit: int = STATES) -> RMDP:
        """The model of a call of the function: all states that can be reached from it.

        A function with its arguments is a component, its different results are exits; calls that
        can lead to each other are one component, their arguments are entries. A state is a position
        and the locals that matter there; `RMDP.label` gives the line and the locals of a vertex.

        Args:
            arguments: What the function is called with.
            state_limit: States after which to give up.

        Raises:
            LimitError: There are more states; the message names the local that grows.
            ModelError: The function does something that a model cannot express.

        Example:
            >>> import recurl
            >>> @recurl.program
            ... def climb(n):
            ...     while n:
            ...         recurl.reward(-1)
            ...         n -= recurl.choose(1, 2) if n > 1 else 1
            >>> recurl.solve(climb.model(5)).value
            -3.0
        """
        return self.unfold(*arguments, state_limit=state_limit).model

    def unfold(
        self, *arguments: Any, state_limit: int = STATES, name: str | None = None
    ) -> Unfolded:
        """The model, by its own name if one is given, with what ties it to the source."""
        from recurl.programs.explore import Exploration
        from recurl.programs.unfold import unfold

        return unfold(Exploration(self, arguments, state_limit), name or self.name)

    def solve(
        self, *arguments: Any, state_limit: int = STATES, **options: Unpack[SolveOptions]
    ) -> Completion:
        """The best completion of the program.

        Args:
            arguments: What the function is called with.
            state_limit: States after which to give up.
            options: Passed on to `recurl.solve`: method, epsilon, objective, ... A discount,
                ``gamma`` or ``box_gamma``, counts the steps of the model.

        Raises:
            NotProperError: The optimum is not finite, or not known to be.
        """
        from recurl.programs.completion import complete
        from recurl.solving.api import solve

        unfolded = self.unfold(*arguments, state_limit=state_limit)
        x = unfolded.exploration
        if not x.exits_of(x.first):
            warnings.warn(
                f"{self.name} never returns, whatever is chosen: its value is the total of runs "
                "without end",
                stacklevel=2,
            )
        solution = solve(unfolded.model, **options)
        return complete(
            unfolded,
            solution,
            arguments,
            discount=options.get("gamma"),
            count=options.get("count", "actions"),
            box_discount=options.get("box_gamma"),
        )

    def learn(
        self, *arguments: Any, steps: int = 100_000, state_limit: int = STATES, **settings: Any
    ) -> Completion:
        """A completion learned by Recursive Q-learning on the program's model.

        Args:
            arguments: What the function is called with.
            steps: How many steps to learn.
            state_limit: States after which to give up.
            settings: Passed on to `recurl.RecursiveQLearning`: seed, preset, exploration, ...
        """
        from recurl.learn.tabular import RecursiveQLearning
        from recurl.programs.completion import Completion

        unfolded = self.unfold(*arguments, state_limit=state_limit)
        learner = RecursiveQLearning(unfolded.model, **settings).learn(steps)
        return Completion(unfolded, learner.policy(), arguments)

    def live(
        self,
        learner: TabularLearner | type[TabularLearner] | str | PathLike[str] | None = None,
        **settings: Any,
    ) -> Live:
        """The function at real work, with a learner that makes its choices.

        Args:
            learner: The class of a tabular learner, `RecursiveQLearning` if not given; or one that
                was made before, on a `LiveWorld`; or the file in which ``live.learner.save`` left
                one of that class, to go on with. Choices are known again by their function, their
                place among its choices and calls, and their number of options.
            settings: Passed on to the class: seed, learning_rate, exploration, ...; the quantum
                should not be finer than the noise.

        Example:
            >>> import recurl
            >>> @recurl.program
            ... def work():
            ...     recurl.reward(-1 if recurl.choose("quick", "slow") == "quick" else -2)
            >>> live = work.live(exploration=0.1)
            >>> for _ in range(100):
            ...     live()
            >>> live.greedy(), live.total
            (None, -1.0)
        """
        from recurl.learn.tabular import RecursiveQLearning, TabularLearner
        from recurl.programs.live import Live, LiveWorld

        if isinstance(learner, str | PathLike):
            learner = RecursiveQLearning.load(learner, LiveWorld(), **settings)
        elif not isinstance(learner, TabularLearner):
            learner = (learner or RecursiveQLearning)(LiveWorld(), **settings)
        return Live(self, learner)

    def play(self, *arguments: Any, chooser: Chooser | None = None, seed: int = 0) -> Play:
        """Run the function itself once, with draws, rewards and choices.

        Args:
            arguments: What it is called with.
            chooser: A function from options to one of them; any of them if not given.
            seed: Seed of all draws.
        """
        player = Player(chooser, seed)
        with running(player):
            player.play.result = self.function(*arguments)
        return player.play


@overload
def program(function: Callable[P, R], /) -> Program[P, R]: ...
@overload
def program(
    *, observe: Observe | None = None, returns: Sequence[Any] = ()
) -> Callable[[Callable[P, R]], Program[P, R]]: ...
def program(
    function: Callable[..., Any] | None = None,
    /,
    *,
    observe: Observe | None = None,
    returns: Sequence[Any] = (),
) -> Program | Callable[[Callable[..., Any]], Program]:
    """Make a function with open choices a program: ``@program`` or ``@program(observe=...)``.

    The function may use all of Python that can be followed by its locals: parameters and results,
    if, while and for, tuples, numbers, enums, pure helper functions, and calls of programs anywhere
    in expressions. See docs/reference/programs.md.

    Args:
        function: The function.
        observe: For live runs, what the learner sees of the locals: a tuple of names, or a function
            whose parameters are named like the locals that it is given.
        returns: For live runs, the results that the learner distinguishes, and types of exceptions
            that callers catch; all are one if not given.

    Example:
        >>> import recurl
        >>> @recurl.program
        ... def server():
        ...     if recurl.choose("fast", "safe") == "fast":
        ...         recurl.reward(-1)
        ...         if recurl.flip(0.4):
        ...             server()
        ...     else:
        ...         recurl.reward(-2)
        >>> server.model()
        <RMDP server: 1 component, 4 vertices, 1-exit, recursive>
        >>> round(recurl.solve(server.model()).value, 6)
        -1.666667
    """
    if function is None:
        return lambda decorated: _checked(decorated, observe, returns)
    return _checked(function, observe, returns)


def _checked(function: Any, observe: Observe | None, returns: Sequence[Any]) -> Program:
    if not inspect.isfunction(function):
        raise RecurlError(f"@program decorates functions, not {function!r}")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise RecurlError(f"{function.__name__} is async: write an ordinary function")
    if inspect.isgeneratorfunction(function):
        raise RecurlError(f"{function.__name__} is a generator: return a tuple instead of yielding")
    return Program(function, None, observe, returns=returns)
