"""`python -m tests.fuzz --minutes 10`: the fuzzers round after round, each with a seed of its own, until time is over.

A round that fails says with which seed; `--seed N --minutes 0` makes it again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.budget import SEED_VARIABLE

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest: which fuzzers to run")
    options = parser.parse_args()
    deadline = time.monotonic() + 60 * options.minutes
    seed, started = options.seed, time.monotonic()
    while True:
        if not one_round(seed, options.pytest):
            sys.stdout.write(f"the round with seed {seed} failed\n")
            return 1
        seed += 1
        if time.monotonic() >= deadline:
            break
    rounds = seed - options.seed
    sys.stdout.write(f"{rounds} rounds of all fuzzers in {time.monotonic() - started:.0f} s, nothing found\n")
    return 0


def one_round(seed: int, arguments: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", f"--hypothesis-seed={seed}", "--timeout=1200"]
    return (
        subprocess.run(
            [*command, *(arguments or [str(FOLDER)])], env={**os.environ, SEED_VARIABLE: str(seed)}, check=False
        ).returncode
        == 0
    )


if __name__ == "__main__":
    sys.exit(main())
