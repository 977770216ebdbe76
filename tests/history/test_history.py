"""The short form of the history checker: every fault once. `make soak` is the long one."""

from __future__ import annotations

from pathlib import Path

from tests.history import checker, run
from tests.history import entries as e
from tests.history.faults import FAULTS
from tests.history.timeline import Timeline

SHORT = run.Plan(seconds=0, between_faults_seconds=(0.3, 1.2), pauses_seconds=(0.3, 1.5))
# So that a history in which nothing happened proves nothing
LEAST_WRITES, LEAST_READS, LEAST_EVENTS = 200, 200, 500


async def test_what_clients_saw_while_everything_broke_was_one_true_story(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    history = await run.make(SHORT, file)
    violations = checker.check(history)
    assert not violations, f"{len(violations)}, see {file}:\n" + "\n".join(map(str, violations[:5]))

    timeline = Timeline(history)
    assert len(timeline.of(e.Fault)) == len(FAULTS)
    assert len([write for write in timeline.writes if write.outcome == e.OK]) > LEAST_WRITES
    assert len([get for get in timeline.of(e.Get) if get.outcome == e.OK]) > LEAST_READS
    assert len(timeline.of(e.Event)) > LEAST_EVENTS
