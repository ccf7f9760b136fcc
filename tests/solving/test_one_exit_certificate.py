from __future__ import annotations

from pathlib import Path

import pytest

import recurl
from recurl.errors import CertificateError
from recurl.model.certificate import Certificate


@pytest.mark.parametrize("objective", ["max", "min"])
@pytest.mark.parametrize("of", ["reward", "steps", "exit:u2"])
def test_written_read_and_verified(objective: str, of: str, tmp_path: Path) -> None:
    model = recurl.zoo.cloud(exits=1)
    solution = recurl.solve(model, objective=objective, of=of)
    solution.certificate.save(tmp_path / "cloud.json")
    certificate = Certificate.load(tmp_path / "cloud.json")
    verdict = recurl.verify(model, certificate)
    assert (verdict.lower, verdict.upper) == (solution.lower, solution.upper)
    assert len(certificate.points) == len(certificate.pieces) == model.tables.n_components


def test_another_model_is_refused() -> None:
    certificate = recurl.solve(recurl.zoo.countdown()).certificate
    with pytest.raises(CertificateError, match="another model"):
        recurl.verify(recurl.zoo.cloud(exits=1), certificate)
