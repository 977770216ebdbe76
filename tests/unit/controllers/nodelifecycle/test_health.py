from __future__ import annotations

from controllers.nodelifecycle import health
from controllers.nodelifecycle.health import Heartbeats
from tests.unit.controllers.builders import NOW, ago, node


def lease(renewed: str) -> dict[str, object]:
    return {"spec": {"renewTime": renewed}}


def test_a_node_seen_for_the_first_time_is_not_silent() -> None:
    # its last report may be old: perhaps it was we who were away
    assert Heartbeats().silence_seconds(node(), lease("long ago"), 1000.0) == 0


def test_silence_is_measured_from_the_last_change_by_our_clock() -> None:
    subject = Heartbeats()
    subject.silence_seconds(node(), lease("1"), 100.0)
    assert subject.silence_seconds(node(), lease("1"), 140.0) == 40
    assert subject.silence_seconds(node(), lease("2"), 150.0) == 0
    assert subject.silence_seconds(node(), lease("2"), 151.0) == 1


def test_a_status_report_is_a_sign_of_life_too() -> None:
    subject, reporting = Heartbeats(), node()
    subject.silence_seconds(reporting, None, 0.0)
    reporting["status"]["conditions"][0]["lastHeartbeatTime"] = ago(0)
    assert subject.silence_seconds(reporting, None, 60.0) == 0


def test_our_own_verdict_is_no_sign_of_life() -> None:
    subject, silent = Heartbeats(), node()
    silent["status"]["conditions"][0]["lastHeartbeatTime"] = ago(99)
    subject.silence_seconds(silent, lease("1"), 0.0)
    written = health.conditions_of_silent(silent, NOW)
    judged = {**silent, "status": {"conditions": written}}
    assert subject.silence_seconds(judged, lease("1"), 60.0) == 60


def test_a_node_of_the_same_name_is_another_node() -> None:
    subject, other = Heartbeats(), node()
    subject.silence_seconds(node(), None, 0.0)
    other["metadata"]["uid"] = "other"
    assert subject.silence_seconds(other, None, 60.0) == 0


def test_after_an_outage_of_ours_all_silences_count_anew() -> None:
    subject = Heartbeats()
    subject.silence_seconds(node(), None, 0.0)
    subject.restart(100.0)
    assert subject.silence_seconds(node(), None, 110.0) == 10


def test_a_silent_node_becomes_unknown_in_all_it_says() -> None:
    found = health.conditions_of_silent(node(MemoryPressure="False"), NOW)
    assert {entry["type"]: (entry["status"], entry["reason"]) for entry in found} == {
        "Ready": ("Unknown", "NodeStatusUnknown"),
        "MemoryPressure": ("Unknown", "NodeStatusUnknown"),
        "DiskPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "PIDPressure": ("Unknown", "NodeStatusNeverUpdated"),
    }


def test_what_is_unknown_already_is_not_written_again() -> None:
    silent = node(ready="Unknown", MemoryPressure="Unknown", DiskPressure="Unknown", PIDPressure="Unknown")
    assert health.conditions_of_silent(silent, NOW) == []
