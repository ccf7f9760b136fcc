from __future__ import annotations

import os
import subprocess
import sys

SCRIPT = """
import numpy, recurl, scipy.linalg, threadpoolctl

def threads(*_):
    print({part["num_threads"] for part in threadpoolctl.threadpool_info()})

model = recurl.zoo.cloud()
threads()
recurl.solve(model, callback=threads)
threads()
"""


def test_a_model_is_solved_by_one_thread_and_others_have_theirs_again() -> None:
    env = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    first, *inside, last = done.stdout.split()
    assert (first, last) == ("{2}", "{2}")
    assert set(inside) == {"{1}"}
