"""The independent checker of certificates."""

from recurl.verification.checker import Verdict, verify

__all__ = ["Verdict", "verify"]
