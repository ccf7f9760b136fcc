"""Settings that all tests share."""

from __future__ import annotations

import gc
import os
from pathlib import Path

# There are as many processes that test as cores, or more: none is left for a second thread of BLAS,
# torch or XLA. Read when they are imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PJRT_NPROC", "1")

import matplotlib as mpl
from hypothesis import settings

# No screen is needed, and none is opened.
mpl.use("agg")

# Same examples on every run and machine. HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, database=None, max_examples=25
)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Modules and tests are half a million objects that stay: looking through them for garbage again and
# again takes a twelfth of the time.
gc.set_threshold(50_000, 20, 100)

# Networks of tests are small and learn for moments: compiling them takes longer than running them.
# Nothing is optimised, a program is not divided into parts that are compiled by themselves, its
# operations do not name the lines that they come from, and what one process has compiled others
# read, those of the next run too.
JAX = {
    "XLA_FLAGS": (
        "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false "
        "--xla_cpu_parallel_codegen_split_count=1"
    ),
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).parents[1] / "build" / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05",
}
for name, value in JAX.items():
    os.environ.setdefault(name, value)
