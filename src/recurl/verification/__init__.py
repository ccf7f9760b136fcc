"""The independent checker of certificates."""

from recurl.verification.theorems import verify
from recurl.verification.verdict import THEOREMS, Verdict

__all__ = ["THEOREMS", "Verdict", "verify"]
