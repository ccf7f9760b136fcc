"""How long a first command takes, with an empty kernel cache, and how long the second time.

    python benchmarks/cold.py [WORDS ...]

Runs each command in a process of its own with a fresh NUMBA_CACHE_DIR, then again with the cache
that the first run left; Python keeps its bytecode, as it does for installed packages. Prints wall
seconds of the whole process and the number of functions compiled (one per signature). With WORDS,
only the commands that contain one of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RECURL = (sys.executable, "-m", "recurl")
STEPS = """
import gymnasium, recurl
env = gymnasium.make("recurl/Cloud-v0")
env.reset(seed=0)
for _ in range(1000):
    _, _, terminated, truncated, _ = env.step(env.action_space.sample())
    if terminated or truncated:
        env.reset()
"""
COMMANDS = {
    "solve cloud": (*RECURL, "solve", "cloud"),
    "solve palindrome": (*RECURL, "solve", "palindrome"),
    "solve spelunking": (*RECURL, "solve", "spelunking"),
    "simulate cloud": (*RECURL, "simulate", "cloud"),
    "learn cloud --steps 1e5": (*RECURL, "learn", "cloud", "--steps", "1e5"),
    "gym.make and 1,000 steps": (sys.executable, "-c", STEPS),
    "verify cloud": (*RECURL, "verify", "cloud", "cloud.cert"),
    "describe cloud": (*RECURL, "describe", "cloud"),
    "check cloud": (*RECURL, "check", "cloud"),
}


def timed(command: tuple[str, ...], folder: Path, cache: Path) -> float:
    """Wall seconds of a command, with kernels cached in a folder."""
    for left in folder.glob("runs*"):
        left.rename(folder / f"old-{time.monotonic_ns()}")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return seconds


def compiled(cache: Path) -> int:
    """Functions that a cache holds, one per signature."""
    return sum(1 for _ in cache.rglob("*.nbc"))


def main() -> None:
    words = sys.argv[1:]
    chosen = [n for n in COMMANDS if not words or any(word in n for word in words)]
    print(f"{'command':28} {'cold':>8} {'compiled':>9} {'warm':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "verify cloud" in chosen:
            solve = (*COMMANDS["solve cloud"], "--certificate", "cloud.cert")
            timed(solve, folder, folder / "certificate")
        for i, row in enumerate(chosen):
            cache = folder / f"cache{i}"
            cold, warm = (timed(COMMANDS[row], folder, cache) for _ in range(2))
            print(f"{row:28} {cold:8.2f} {compiled(cache):9} {warm:8.2f}", flush=True)


if __name__ == "__main__":
    main()
