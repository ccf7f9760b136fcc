from __future__ import annotations

import platform

from recurl.experiment.machine import machine, versions
from recurl.version import __version__


def test_versions_and_machine() -> None:
    assert versions()["recurl"] == __version__
    assert versions()["python"] == platform.python_version()
    assert platform.node() not in " ".join(map(str, machine().values()))
