"""The independent checker of certificates, which shares nothing with the solvers.

To read it in one sitting: arithmetic, copies, checker, bounds, values, endless.
"""

from __future__ import annotations

import numpy as np

from recurl.model.certificate import Certificate, check_form
from recurl.model.rmdp import RMDP
from recurl.verification.bounds import BoundChecker
from recurl.verification.endless import EndlessChecker
from recurl.verification.values import ValueChecker
from recurl.verification.verdict import THEOREMS, Verdict

__all__ = ["THEOREMS", "Verdict", "verify"]


def verify(model: RMDP, certificate: Certificate) -> Verdict:
    """Check a certificate against a model.

    Raises:
        CertificateError: Names the first inequality that does not hold, or what is malformed.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> verdict = recurl.verify(model, recurl.solve(model).certificate)
        >>> abs(verdict.lower + 5.3425) < 1e-6
        True
    """
    check_form(model, certificate)
    with np.errstate(all="ignore"):  # floats that overflow prove nothing
        if certificate.values is not None:
            graph = certificate.endless and certificate.values.contexts
            kind = EndlessChecker if graph else ValueChecker
            return kind(model, certificate, certificate.values).verdict()
        return BoundChecker(model, certificate).verdict()
