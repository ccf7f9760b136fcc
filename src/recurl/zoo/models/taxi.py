"""Gymnasium's taxi, with a context-free side condition."""

from __future__ import annotations

from collections.abc import Iterator

import gymnasium as gym

from recurl.automaton.machine import Machine, rule
from recurl.automaton.mdp import LabelledMDP
from recurl.automaton.product import product
from recurl.model.rmdp import RMDP
from recurl.model.spec import Number
from recurl.zoo.values import between

ACTIONS = ("south", "north", "east", "west", "pickup", "dropoff")
PLACES = ((0, 0), (0, 4), (4, 0), (4, 3))
INSIDE = 4


def taxi(
    start: tuple[int, int] = (2, 2),
    passenger: int = 1,
    destination: int = 3,
    *,
    breakdown: Number = 0.01,
    fine: Number = -30,
) -> RMDP:
    """Drive Gymnasium's taxi with tickets, which are bought in one corner and used up by rides.

    Every arrival at the corner R (row 0, column 0) buys a ticket, as many as one likes. Taking up
    the passenger uses one up, and so does the final drop-off; without a ticket either ends the run
    with a fine. All else is the taxi's own: -1 a step, -10 for futile pickups and drop-offs, 20 at
    the destination. Each step first breaks down with a small probability.

    Args:
        start: Row and column of the taxi, from 0 to 4.
        passenger: Where the passenger waits: 0 to 3 for R, G, Y, B.
        destination: Where the passenger wants to go, another place.
        breakdown: Probability, per step, that the run ends, in (0, 1).
        fine: Reward of a ride without a ticket, beside the taxi's own.

    Example:
        >>> taxi()
        <RMDP taxi: 2 components, 229 vertices, multi-exit, recursive>
    """
    p = between("breakdown", breakdown, 0, 1)
    places = range(len(PLACES))
    if passenger not in places or destination not in places or passenger == destination:
        raise ValueError("passenger and destination must be two of 0, 1, 2, 3")
    if not all(0 <= x <= INSIDE for x in start):
        raise ValueError(f"start must be a row and a column from 0 to 4, not {start}")
    first = ((start[0] * 5 + start[1]) * 5 + passenger) * 4 + destination
    from gymnasium.envs.toy_text.taxi import TaxiEnv  # its id has changed from v3 to v4

    env: gym.Env[int, int] = TaxiEnv()
    known = ("ticket", "ride", "arrived")
    world = LabelledMDP.from_env(
        env, _labels, {first: 1}, actions=ACTIONS, known=known, state_name=_state_name
    )
    return product(world.with_breakdown(p), ticket_machine(fine), "taxi")


def _labels(state: int, action: int, there: int) -> Iterator[str]:
    (cell, passenger, _), (place, rider, destination) = _read(state), _read(there)
    if place == PLACES[0] != cell:
        yield "ticket"
    if rider == INSIDE != passenger:
        yield "ride"
    if passenger == INSIDE and rider == destination:
        yield "arrived"


def _state_name(state: int) -> str:
    (row, column), passenger, _ = _read(state)
    return f"r{row}c{column} passenger {'inside' if passenger == INSIDE else 'RGYB'[passenger]}"


def _read(state: int) -> tuple[tuple[int, int], int, int]:
    """Cell, passenger and destination of one of Gymnasium's numbers."""
    rest, destination = divmod(state, 4)
    rest, passenger = divmod(rest, 5)
    return divmod(rest, 5), passenger, destination


def ticket_machine(fine: Number) -> Machine:
    """Tickets on a stack; rides use them up.

    Example:
        >>> ticket_machine(-30)
        <Machine tickets: 3 states, 2 stack symbols, 5 rules>
    """
    rules = [
        rule("drive", "ticket", "drive", push="ticket _"),
        rule("drive", "ride", "drive", top="ticket", push=""),
        rule("drive", "ride", "fined", top="bottom", reward=fine),
        rule("drive", "arrived", "arrived", top="ticket"),
        rule("drive", "arrived", "fined", top="bottom", reward=fine),
    ]
    exclusive = [("ticket", "ride", "arrived")]
    return Machine("tickets", rules, final=("arrived", "fined"), exclusive=exclusive)
