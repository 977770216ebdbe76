"""`python -m tests.history`: make a history and check it, or check one that was made before."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.history import checker, entries, figures, run
from tests.history.timeline import Timeline

_SHOWN = 20
# Longer than what the rules grant for recovery
QUIET_SECONDS = 20.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.history", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=1, help="of what clients do and of the order of faults")
    parser.add_argument("--out", type=Path, default=Path("build/history.jsonl"), help="where the history is kept")
    parser.add_argument("--check", type=Path, metavar="FILE", help="check this history instead of making one")
    options = parser.parse_args()
    if options.check:
        history = list(entries.read(options.check))
    else:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        plan = run.Plan(60 * options.minutes, options.seed, quiet_seconds=QUIET_SECONDS)
        history = asyncio.run(run.make(plan, options.out))
    return report(history)


def report(history: list[entries.Entry]) -> int:
    for line in figures.summary(Timeline(history)):
        _say(line)
    violations = checker.check(history)
    for violation in violations[:_SHOWN]:
        _say(str(violation))
    _say(f"{len(violations)} violations of {len(checker.RULES)} rules")
    return 1 if violations else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
