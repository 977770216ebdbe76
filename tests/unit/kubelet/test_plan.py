"""The plan of a pod, as a table: what is observed, what is planned. No runtime, no clock."""

# ruff: noqa: E501  # tables read by rows

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery.objects import Object
from kubelet import plan
from kubelet.observed import Observed
from kubelet.plan import Ending, Facts
from tests.unit.kubelet.builders import START, World, observed, pod, run, sidecar

LATER = START + timedelta(seconds=60)
ENDING = Ending(LATER + timedelta(seconds=30), "deleted")


def planned(a_pod: Object, seen: Observed, **facts: Any) -> str:
    return str(plan.plan_pod(a_pod, seen, Facts(**({"now": LATER} | facts))))


TABLE = [
    # (what it shows, pod, observed, facts, plan)
    ("a new pod gets a sandbox and its containers", pod("a", "b"), Observed(), {}, "create sandbox #0, start a#0, start b#0"),
    ("what runs is left alone", pod("a"), observed(run("a")), {}, "nothing to do"),
    ("a missing container is started", pod("a", "b"), observed(run("a")), {}, "start b#0"),
    ("Always restarts what succeeded", pod("a"), observed(run("a", "exited")), {}, "start a#1"),
    ("OnFailure restarts what failed", pod("a", "b", restart="OnFailure"), observed(run("a", "exited", code=1), run("b")), {}, "start a#1"),
    ("OnFailure leaves what succeeded", pod("a", "b", restart="OnFailure"), observed(run("a", "exited"), run("b")), {}, "nothing to do"),
    ("Never restarts nothing", pod("a", "b", restart="Never"), observed(run("a", "exited", code=1), run("b")), {}, "nothing to do"),
    ("a pod that is through loses its sandbox", pod("a", restart="Never"), observed(run("a", "exited")), {}, "stop sandbox s0"),
    ("then it is finished", pod("a", restart="Never"), observed(run("a", "exited"), ready=False), {}, "finished"),
    (
        "a rule of the container wins over the pod's policy",
        pod({"name": "a", "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]}, restart="Never"),
        observed(run("a", "exited", code=42)), {}, "start a#1",
    ),
    # init containers
    ("init containers come first", pod("a", init=("i", "j")), Observed(), {}, "create sandbox #0, start i#0"),
    ("and hold up all else while they run", pod("a", init=("i", "j")), observed(run("i")), {}, "nothing to do"),
    ("the next one when one succeeded", pod("a", init=("i", "j")), observed(run("i", "exited")), {}, "start j#0"),
    ("the apps when all did", pod("a", init=("i",)), observed(run("i", "exited")), {}, "start a#0"),
    ("a failed one is tried again", pod("a", init=("i",)), observed(run("i", "exited", code=1)), {}, "start i#1"),
    ("but not with Never: the pod is over", pod("a", init=("i",), restart="Never"), observed(run("i", "exited", code=1)), {}, "stop sandbox s0"),
    ("init containers do not run again beside running apps", pod("a", "b", init=("i",)), observed(run("a")), {}, "start b#0"),
    # sidecars
    ("a sidecar lets the next one through once it runs", pod("a", init=(sidecar("s"), "i")), observed(run("s")), {}, "start i#0"),
    ("but not before its startup probe", pod("a", init=(sidecar("s"),)), observed(run("s")), {"starting": frozenset({"s-0"})}, "nothing to do"),
    ("a dead sidecar is restarted beside the apps", pod("a", init=(sidecar("s"),)), observed(run("s", "exited"), run("a")), {}, "start s#1"),
    ("a finished pod stops its sidecars", pod("a", init=(sidecar("s"),), restart="Never"), observed(run("s"), run("a", "exited")), {}, "stop s (pod completed, 30 s)"),
    # the end
    ("a deleted pod's apps stop first", pod("a", "b", init=(sidecar("s"),)), observed(run("s"), run("a"), run("b")), {"ending": ENDING}, "stop a (deleted, 30 s), stop b (deleted, 30 s)"),
    ("then sidecars from the last", pod("a", init=(sidecar("s"), sidecar("t"))), observed(run("s"), run("t"), run("a", "exited")), {"ending": ENDING}, "stop t (deleted, 30 s)"),
    ("with little time left they still get two seconds", pod("a", init=(sidecar("s"),)), observed(run("s"), run("a", "exited")), {"ending": Ending(LATER, "deleted")}, "stop s (deleted, 2 s)"),
    ("then the sandbox", pod("a"), observed(run("a", "exited")), {"ending": ENDING}, "stop sandbox s0"),
    ("and that is all", pod("a"), Observed(), {"ending": ENDING}, "finished"),
    # faults
    ("a lost sandbox is replaced and all starts anew", pod("a", init=("i",)), observed(run("i", "exited"), run("a", "exited", code=255), ready=False), {}, "stop sandbox s0, create sandbox #1, start i#1"),
    ("what ran in the old one does not count as initialised", pod("a", init=("i",)), observed(run("i", "exited", sandbox="s0"), attempt=1), {}, "start i#1"),
    ("what still runs beside a dead sandbox is stopped", pod("a"), observed(run("a"), ready=False), {}, "stop a (its sandbox is gone, 30 s), stop sandbox s0, create sandbox #1, start a#1"),
    ("a pod that never restarts stays down", pod("a", restart="Never"), observed(run("a", "exited", code=255), ready=False), {}, "finished"),
    ("a container that was created but not started is made anew", pod("a"), observed(run("a", "created")), {}, "remove a-0, start a#0"),
    ("only the newest dead run is kept", pod("a"), observed(run("a", attempt=2), run("a", "exited", attempt=1), run("a", "exited", attempt=0)), {}, "remove a-0"),
    ("a container whose liveness probe gave up is stopped", pod("a"), observed(run("a")), {"unhealthy": {"a-0": "liveness"}}, "stop a (Container a failed liveness probe, 30 s)"),
    ("so is one whose image was changed", pod("a"), observed(run("a", spec_hash="old")), {}, "stop a (Container a definition changed, 30 s)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("a_pod", "seen", "facts", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_the_plan_is(a_pod: Object, seen: Observed, facts: dict[str, Any], expected: str) -> None:
    assert planned(a_pod, seen, **facts) == expected


def test_a_crashed_container_waits_for_its_back_off_from_the_moment_it_ended() -> None:
    seen = observed(run("a", "exited", code=1))
    todo = plan.plan_pod(pod("a"), seen, Facts(now=START + timedelta(seconds=4), restart_delays={"a": 10.0}))
    assert str(todo) == "a CrashLoopBackOff"
    assert todo.waiting[0].message == "back-off 10s restarting failed container=a pod=p_ns(u1)"
    assert todo.again_seconds == 6.0
    assert planned(pod("a"), seen, restart_delays={"a": 10.0}) == "start a#1"


def test_a_long_back_off_is_said_in_minutes() -> None:
    facts = Facts(now=START, restart_delays={"a": 80.0})
    todo = plan.plan_pod(pod("a"), observed(run("a", "exited", code=1)), facts)
    assert "back-off 1m20s restarting" in todo.waiting[0].message


def test_the_grace_period_of_a_deletion_wins_over_the_specs() -> None:
    a_pod = pod("a", terminationGracePeriodSeconds=60, metadata={"deletionGracePeriodSeconds": 0})
    seen = observed(run("a", spec_hash="old"))
    assert plan.plan_pod(a_pod, seen, Facts(now=LATER)).stop[0].grace_seconds == 1


# --- whatever happens, applying plans ends in the wanted state

_POLICIES = st.sampled_from(["Always", "OnFailure", "Never"])
_HAPPENINGS = st.lists(
    st.one_of(
        st.tuples(st.just("exit"), st.sampled_from(["i", "s", "a", "b"]), st.sampled_from([0, 1])),
        st.tuples(st.just("reboot"), st.just(""), st.just(0)),
    ),
    max_size=6,
)


def settle(world: World, ending: Ending | None = None) -> plan.PodPlan:
    """Apply plans until nothing is to do; init containers succeed by themselves. More than 40 rounds is going in circles."""
    for _ in range(40):
        todo = plan.plan_pod(world.pod, world.observed, Facts(now=world.now, ending=ending))
        world.apply(todo)
        world.pass_time(1)
        if not todo.acts:
            if not any(c.name == "i" and c.state == "running" for c in world.observed.containers):
                return todo
            world.exit("i", 0)
    raise AssertionError(f"never settles: {todo}")


@settings(max_examples=60, deadline=None)
@given(policy=_POLICIES, happenings=_HAPPENINGS, init=st.booleans())
def test_plans_converge_whatever_happens_and_a_deleted_pod_leaves_nothing_running(
    policy: str, happenings: list[tuple[str, str, int]], init: bool
) -> None:
    world = World(pod("a", "b", init=(sidecar("s"), "i") if init else (), restart=policy))
    settle(world)
    for kind, name, code in happenings:
        if kind == "exit":
            world.exit(name, code)
        else:
            world.lose_sandbox()
        last = settle(world)
        running = {c.name for c in world.observed.running()}
        if policy == "Always":
            assert running >= {"a", "b"}, "with Always everything runs again"
        if last.finished:
            assert not running, "a finished pod has nothing running"
    last = settle(world, Ending(world.now, "deleted"))
    assert last.finished
    assert not world.observed.running()
    assert not any(s.ready for s in world.observed.sandboxes)


def test_a_plan_is_a_value() -> None:
    todo = plan.plan_pod(pod("a"), Observed(), Facts(now=START))
    assert todo == plan.plan_pod(pod("a"), Observed(), Facts(now=START))
    with pytest.raises(AttributeError):
        todo.finished = True  # type: ignore[misc]  # that it is refused is the point
    assert replace(todo, finished=True) != todo
