"""Certificates for answers that were found by other means than the certified search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recurl.errors import CertificateError, NotProperError

if TYPE_CHECKING:
    from recurl.model.certificate import Certificate
    from recurl.model.rmdp import RMDP
    from recurl.solving.question import Question


def general_certificate(
    model: RMDP, question: Question, epsilon: float, options: dict[str, Any]
) -> Certificate:
    """The certificate of a general method, for answers that were found in another way.

    Raises:
        CertificateError: Not every policy is known to end; certificates prove that too.
    """
    from recurl.solving.one_exit import solve_one_exit
    from recurl.solving.structure import solve_any

    general = solve_one_exit if model.kind.one_exit else solve_any
    try:
        return general(model, question, epsilon, **options).certificate
    except NotProperError as error:
        raise CertificateError(f"there is no certificate for this answer: {error}") from error
