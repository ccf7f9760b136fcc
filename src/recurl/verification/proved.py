"""The checker that is extracted from a Coq proof: how models and certificates are handed to it.

The program is built from the folder `verified/` by ``make proved``. It reads the model from a table
file that is written here, or from its document.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import msgspec

from recurl.errors import CertificateError
from recurl.model.certificate import Certificate
from recurl.model.files import write_atomic
from recurl.model.rmdp import RMDP

PROGRAM = "recurl-proved"
_BUILT = Path(__file__).parents[3] / "verified" / "build" / PROGRAM
_COLUMNS = (
    "component_start",
    "n_entries",
    "n_exits",
    "vertex_component",
    "vertex_kind",
    "vertex_box",
    "vertex_port",
    "box_owner",
    "box_component",
    "box_return",
    "action_start",
    "transition_start",
    "target",
)


@dataclass(frozen=True, slots=True)
class Proof:
    """The statement that the proved checker confirmed.

    Attributes:
        lower: The optimum is at least this: a decimal, rounded down.
        upper: The optimum is at most this: a decimal, rounded up.
        question: What the interval is about, in words.
        model: The model that was checked, and what it was read from.
        seconds: Times of reading, of scaling to whole numbers, and of checking.
        text: The verdict in full.
    """

    lower: str
    upper: str
    question: str
    model: str
    seconds: tuple[float, float, float]
    text: str

    def __str__(self) -> str:
        return self.text


def proved_program() -> str | None:
    """The path of the extracted program, if it is built or installed.

    The environment variable ``RECURL_PROVED`` may name another one.
    """
    named = os.environ.get("RECURL_PROVED")
    found = named or (str(_BUILT) if _BUILT.is_file() else PROGRAM)
    return shutil.which(found)


def write_tables(model: RMDP, path: str | os.PathLike[str]) -> None:
    """Write the exact arrays of a model as a table file, in JSON."""
    t = model.tables
    numbers, prob, reward = model.exact.distinct()
    starts = [model.exact.start(e) for e in range(len(t.start_prob))]
    tables = {
        "recurl_tables": 1,
        "name": model.name,
        "fingerprint": model.fingerprint,
        "exit_names": [model.local_name(v) for v in t.exits_of(t.start_component)],
        "start_component": t.start_component,
        "start_prob": [len(numbers) + e for e in range(len(starts))],
        "numbers": [*numbers, *map(str, starts)],
        "prob": prob,
        "reward": reward,
        **{name: getattr(t, name).tolist() for name in _COLUMNS},
    }
    write_atomic(path, msgspec.json.encode(tables))


def prove(
    model: RMDP, certificate: Certificate, *, document: str | os.PathLike[str] | None = None
) -> Proof:
    """Check a certificate with the program that is extracted from the Coq proof.

    Args:
        model: The model.
        certificate: The certificate.
        document: The model as a document in JSON, for the program to read in place of tables.

    Raises:
        CertificateError: The program is not built, or does not confirm the certificate.
    """
    done = _run("--json", model, certificate, document)
    found = _facts(done)
    text = str(found["text"])
    if found["verdict"] != "proved" or done.returncode != 0:
        raise CertificateError(f"by the proved checker: {text.splitlines()[0]}")
    read, scale, check = (float(x) for x in found["seconds"])
    lower, upper, question, read_from = (
        str(found[name]) for name in ("lower", "upper", "question", "model")
    )
    return Proof(lower, upper, question, read_from, (read, scale, check), text)


def write_proof(
    model: RMDP,
    certificate: Certificate,
    path: str | os.PathLike[str],
    *,
    document: str | os.PathLike[str] | None = None,
) -> None:
    """Write a file that Coq accepts as a theorem: the optimum lies between the ends.

    ``coqc -Q verified/build/theories Recurl FILE`` checks it. Then only Coq and the numbers of the
    model in the file need to be trusted. For small models: Coq computes with lists.

    Raises:
        CertificateError: The program is not built, or refuses the certificate.
    """
    done = _run("--proof-term", model, certificate, document)
    if done.returncode != 0:
        raise CertificateError(f"by the proved checker: {_facts(done)['text']}")
    write_atomic(path, done.stdout)


def _run(
    option: str,
    model: RMDP,
    certificate: Certificate,
    document: str | os.PathLike[str] | None,
) -> subprocess.CompletedProcess[str]:
    """The program, run on a model and a certificate."""
    program = proved_program()
    if program is None:
        raise CertificateError(
            "the proved checker is not built: run `make proved` in the source folder, which needs"
            " the Debian packages ocaml-nox, libzarith-ocaml-dev, ocaml-findlib and, to check the"
            " proof too, coq"
        )
    with tempfile.TemporaryDirectory() as folder:
        tables, given = Path(folder, "model.json"), Path(folder, "certificate.json")
        certificate.save(given)
        if document is None:
            write_tables(model, tables)
        command = [program, option, str(tables if document is None else document), str(given)]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def _facts(done: subprocess.CompletedProcess[str]) -> dict[str, str | list[float]]:
    """The verdict that the program printed."""
    try:
        return msgspec.json.decode(done.stdout, type=dict[str, str | list[float]])
    except msgspec.DecodeError:
        raise CertificateError(
            f"the proved checker gave no verdict (exit code {done.returncode}):"
            f" {done.stderr[-200:]}"
        ) from None
