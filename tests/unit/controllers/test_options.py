from __future__ import annotations

import pytest

from controllers import __main__ as command
from controllers import options, registry


def test_defaults_are_upstreams() -> None:
    chosen = options.parse([])
    assert chosen.leader_elect
    assert chosen.node_monitor_grace_period == 50
    assert chosen.workers("garbage-collector-controller") == 20
    assert all(chosen.enables(entry.name) for entry in registry.CONTROLLERS)


@pytest.mark.parametrize(
    ("text", "enabled"),
    [
        ("*,-job-controller", {"deployment-controller"}),
        ("job-controller", {"job-controller"}),
        ("deployment-controller,job-controller", {"deployment-controller", "job-controller"}),
    ],
)
def test_controllers_are_chosen_by_name(text: str, enabled: set[str]) -> None:
    chosen = options.parse(["--controllers", text])
    names = {"deployment-controller", "job-controller"}
    assert {name for name in names if chosen.enables(name)} == enabled


@pytest.mark.parametrize(("text", "seconds"), [("40s", 40), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("7", 7)])
def test_durations_take_upstreams_form(text: str, seconds: float) -> None:
    assert options.parse(["--node-monitor-period", text]).node_monitor_period == seconds


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--node-monitor-period", "5x"], "'5x' is no duration"),
        (["--node-monitor-period", "s"], "'s' is no duration"),
        (["--leader-elect=maybe"], "'maybe' is neither true nor false"),
        (["--allocate-node-cidrs"], "--allocate-node-cidrs needs --cluster-cidr"),
        (["--cluster-cidr", "10.0.0.1/8"], "has host bits set"),
        (["--cluster-cidr", "10.0.0.0/25"], "is larger than --cluster-cidr"),
        (["--leader-elect-renew-deadline", "20s"], "must be shorter"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        options.parse(arguments)
    assert complaint in capsys.readouterr().err


def test_a_controllers_former_name_still_counts() -> None:
    chosen = options.parse(["--controllers", "*,-podgc"])
    assert command.unknown_controllers(chosen) == ""
    assert not chosen.enables("pod-garbage-collector-controller", "podgc")
    assert chosen.enables("job-controller", "job")


def test_an_unknown_controller_is_named() -> None:
    chosen = options.parse(["--controllers", "*,-deploy"])
    assert command.unknown_controllers(chosen).startswith("--controllers: deploy: not in ")
    assert command.unknown_controllers(options.parse([])) == ""
