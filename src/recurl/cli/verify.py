"""``recurl verify``: does a certificate prove what it claims?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recurl.cli.models import ModelName, Parameters, read_model
from recurl.cli.numbers import BoxDiscount, real
from recurl.cli.output import AsJson, UsageError, print_json, show, writable
from recurl.errors import CertificateError

EXAMPLES = """\
  recurl solve cloud --certificate cloud.cert
  recurl verify cloud cloud.cert
  recurl verify cloud cloud.cert --proved
"""


def verify(
    model: ModelName,
    parameters: Parameters = None,
    *,
    certificate: Annotated[
        Path, typer.Argument(metavar="CERT", help="File written by solve --certificate.")
    ],
    discount: Annotated[
        float | None, real("Discount of each step, as given to solve.", above=0, most=1)
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="VERTEX", help="Where runs start, as given to solve.")
    ] = None,
    stack: Annotated[
        list[str] | None,
        typer.Option(metavar="BOX", help="Box pending there, as given to solve; repeatable."),
    ] = None,
    constants: Annotated[
        str | None,
        typer.Option(metavar="N=3,...", help="Undefined constants, as given to solve."),
    ] = None,
    property: Annotated[
        str | None, typer.Option(help="The property of a flat model, as given to solve.")
    ] = None,
    proved: Annotated[
        bool,
        typer.Option(
            "--proved",
            help="Check with the program extracted from a Coq proof (make proved); it reads JSON"
            " documents by itself.",
        ),
    ] = False,
    count: Annotated[str, typer.Option(help="What it counts, as given to solve.")] = "actions",
    proof_term: Annotated[
        Path | None,
        typer.Option(
            "--proof-term",
            metavar="FILE",
            help="Write the statement as a theorem that Coq checks by itself (small models).",
        ),
    ] = None,
    box_discount: BoxDiscount = 1.0,
    json: AsJson = False,
) -> None:
    """Check a certificate, without trusting the solver.

    All its inequalities are checked in exact arithmetic. The exit code is 0 if the
    certificate proves what it claims, and 1 if not.
    """
    from recurl.model.certificate import Certificate
    from recurl.model.transforms.starting import start_at
    from recurl.progress import Progress
    from recurl.solving.discounted import discounted_model, discounts
    from recurl.verification import Proof, prove, write_proof
    from recurl.verification import verify as run

    if not certificate.is_file():
        raise UsageError(f"{certificate}: file not found (the certificate comes last)")
    named = {"constants": constants, "property": property}
    texts = [f"{name}={value}" for name, value in named.items() if value is not None]
    found = read_model(model, texts := [*(parameters or []), *texts])
    document = Path(model) if model.endswith(".json") and not texts else None
    if proof_term is not None:
        writable(proof_term)
    if start is not None:
        found, document = start_at(found, start, stack or ()), None
    if discounts(discount, box_discount):
        changed = discounted_model(found, discount, count=count, box_gamma=box_discount)
        found, document = changed, None
    try:
        with Progress(f"verifying {certificate}"):
            given = Certificate.load(certificate)
            if proof_term is not None:
                write_proof(found, given, proof_term, document=document)
            verdict = prove(found, given, document=document) if proved else run(found, given)
    except CertificateError as error:
        if not json:
            raise
        print_json({"model": found.name, "proved": False, "reason": str(error)})
        raise typer.Exit(1) from None
    if isinstance(verdict, Proof):
        if json:
            facts = {"claim": verdict.question, "lower": verdict.lower, "upper": verdict.upper}
            read = {"read": verdict.model, "seconds": verdict.seconds}
            print_json({"model": found.name, "proved": True, **facts, **read})
        else:
            show(f"{found.name}: {verdict}")
    elif json:
        claim = {
            "claim": verdict.claim,
            "objective": verdict.objective,
            "rewards": verdict.rewards,
            "exit_values": verdict.exit_values,
            "endless": verdict.endless,
            "lower": verdict.lower,
            "upper": verdict.upper,
            "steps": verdict.steps,
            "theorems": list(verdict.theorems),
        }
        print_json({"model": found.name, "proved": True, **claim, "checked": verdict.checked})
    else:
        show(f"{found.name}: {verdict}")
