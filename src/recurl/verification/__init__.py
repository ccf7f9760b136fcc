"""The independent checker of certificates, which shares nothing with the solvers.

To read it in one sitting: arithmetic, copies, checker, bounds, values, endless, ways. A second
checker, extracted from a Coq proof, is a program of its own (verified/): proved.py runs it.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, overload

import numpy as np
from msgspec.structs import replace

from recurl.errors import CertificateError
from recurl.model.certificate import Certificate, check_form
from recurl.model.rmdp import RMDP
from recurl.model.transforms.stopping import stop_in_free_loops
from recurl.verification.bounds import BoundChecker
from recurl.verification.endless import EndlessChecker
from recurl.verification.proved import Proof, prove, write_proof, write_tables
from recurl.verification.values import ValueChecker
from recurl.verification.verdict import THEOREMS, Verdict
from recurl.verification.ways import WayChecker

__all__ = ["THEOREMS", "Proof", "Verdict", "prove", "verify", "write_proof", "write_tables"]


@overload
def verify(model: RMDP, certificate: Certificate, *, proved: Literal[False] = False) -> Verdict: ...


@overload
def verify(model: RMDP, certificate: Certificate, *, proved: Literal[True]) -> Proof: ...


def verify(model: RMDP, certificate: Certificate, *, proved: bool = False) -> Verdict | Proof:
    """Check a certificate against a model.

    Args:
        model: The model.
        certificate: The certificate.
        proved: Check with the program that is extracted from a Coq proof, if it is built; see
            `prove`.

    Raises:
        CertificateError: Names the first inequality that does not hold, or what is malformed.

    Example:
        >>> import recurl
        >>> model = recurl.zoo.cloud(exits=1)
        >>> verdict = recurl.verify(model, recurl.solve(model).certificate)
        >>> abs(verdict.lower + 5.3425) < 1e-6
        True
    """
    if proved:
        return prove(model, certificate)
    if certificate.loops:
        return _verify_with_stops(model, certificate)
    check_form(model, certificate)
    with np.errstate(all="ignore"):  # floats that overflow prove nothing
        if certificate.values is not None:
            graph = certificate.endless and certificate.values.contexts
            kind = EndlessChecker if graph else ValueChecker
            return kind(model, certificate, certificate.values).verdict()
        if certificate.ways is not None:
            return WayChecker(model, certificate, certificate.ways).verdict()
        return BoundChecker(model, certificate).verdict()


def _verify_with_stops(model: RMDP, certificate: Certificate) -> Verdict:
    """Check a certificate against the model in which runs may stop in free loops."""
    if certificate.model != model.fingerprint:
        raise CertificateError(f"the certificate is for another model than {model.name}")
    stopping = stop_in_free_loops(model)
    if stopping is None or [own[0] for own in stopping.loops] != certificate.loops:
        raise CertificateError("malformed certificate: loops: not the free loops of the model")
    if certificate.endless is not None or certificate.rewards != "model":
        raise CertificateError("malformed certificate: loops of another question")
    values = [*certificate.exit_values, 0.0] if certificate.exit_values else []
    given = replace(certificate, model=stopping.model.fingerprint, exit_values=values, loops=[])
    found = verify(stopping.model, given)
    loops = tuple(model.vertex_name(own[0]) for own in stopping.loops)
    return dataclasses.replace(found, loops=loops)
