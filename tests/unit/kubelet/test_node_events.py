"""What a kubelet says about its node."""

from __future__ import annotations

import pytest

from apimachinery.objects import Object
from kubelet.node import events

HEALTHY = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


def status(boot: str = "b1", **conditions: str) -> Object:
    listed = [{"type": name, "status": value} for name, value in conditions.items()]
    return {"conditions": listed, "nodeInfo": {"bootID": boot}}


def reasons(old: Object, new: Object) -> list[str]:
    return [event.reason for event in events.of_status("n", old, new)]


def test_a_new_node_says_how_it_fares() -> None:
    first = events.of_status("n", {}, status(**HEALTHY))
    assert [event.reason for event in first] == [
        "NodeHasSufficientMemory",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientPID",
        "NodeReady",
    ]
    assert first[0] == ("Normal", "NodeHasSufficientMemory", "Node n status is now: NodeHasSufficientMemory")


def test_a_node_that_is_not_ready_yet_says_so_only_once_it_was() -> None:
    unready = status(**HEALTHY | {"Ready": "False"})
    assert "NodeNotReady" not in reasons({}, unready)
    assert reasons(unready, status(**HEALTHY)) == ["NodeReady"]
    assert reasons(status(**HEALTHY), unready) == ["NodeNotReady"]


def test_what_has_not_turned_is_not_said_again() -> None:
    assert reasons(status(**HEALTHY), status(**HEALTHY)) == []


def test_a_node_that_others_called_unknown_says_that_it_is_ready_again() -> None:
    assert reasons(status(**HEALTHY | {"Ready": "Unknown"}), status(**HEALTHY)) == ["NodeReady"]


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("MemoryPressure", "NodeHasInsufficientMemory"),
        ("DiskPressure", "NodeHasDiskPressure"),
        ("PIDPressure", "NodeHasInsufficientPID"),
    ],
)
def test_pressure_is_said_when_it_comes(condition: str, reason: str) -> None:
    assert reasons(status(**HEALTHY), status(**HEALTHY | {condition: "True"})) == [reason]


def test_a_reboot_is_a_warning() -> None:
    (event,) = events.of_status("n", status("b1", **HEALTHY), status("b2", **HEALTHY))
    assert event == ("Warning", "Rebooted", "Node n has been rebooted, boot id: b2")
    assert reasons(status("", **HEALTHY), status("b2", **HEALTHY)) == []


def test_cordon_and_uncordon_are_said_once() -> None:
    cordoned: Object = {"spec": {"unschedulable": True}}
    assert [event.reason for event in events.of_cordon("n", False, cordoned)] == ["NodeNotSchedulable"]
    assert events.of_cordon("n", True, cordoned) == []
    assert [event.reason for event in events.of_cordon("n", True, {"spec": {}})] == ["NodeSchedulable"]
