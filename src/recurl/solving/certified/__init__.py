"""Certified bounds for models with any exits: points above, pieces below."""

from recurl.solving.certified.solver import solve_certified

__all__ = ["solve_certified"]
