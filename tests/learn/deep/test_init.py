from __future__ import annotations

import subprocess
import sys

CODE = """
import importlib.util, sys
sys.modules["optax"] = None
import recurl
from recurl.errors import MissingExtraError
for name in ("DQN", "DeepRecursiveQLearning"):
    try:
        getattr(recurl, name)
    except MissingExtraError as error:
        print(error)
"""


def test_a_missing_extra_names_the_command() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["Deep learning needs: pip install 'recurl[deep]'"] * 2
