from __future__ import annotations

from apimachinery import gvr
from apimachinery.objects import Object
from controllers.namespace import plan
from controllers.namespace.plan import Contents
from tests.unit.controllers.builders import NOW


def problems(contents: Contents) -> dict[str, tuple[str, str]]:
    namespace: Object = {"metadata": {"name": "x"}}
    found = plan.conditions(namespace, contents, NOW)
    assert len(found) == 5
    return {entry["type"]: (entry["reason"], entry["message"]) for entry in found if entry["status"] == "True"}


def test_an_empty_namespace_may_go() -> None:
    assert Contents().empty
    assert problems(Contents()) == {}


def test_what_remains_is_listed_with_its_finalizers() -> None:
    contents = Contents()
    contents.count(gvr.PODS, [{"metadata": {"finalizers": ["a/b"], "deletionGracePeriodSeconds": 30}}] * 2)
    contents.count(gvr.JOBS, [{"metadata": {}}])
    contents.count(gvr.SECRETS, [])
    assert not contents.empty
    assert contents.look_again_seconds == 16
    assert problems(contents) == {
        "NamespaceContentRemaining": (
            "SomeResourcesRemain",
            "Some resources are remaining: jobs.batch has 1 resource instances, pods. has 2 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: a/b in 2 resource instances",
        ),
    }


def test_a_group_that_does_not_answer_keeps_the_namespace() -> None:
    contents = Contents(discovery_failures={"metrics.k8s.io/v1": "stale discovery"})
    assert not contents.empty
    assert list(problems(contents)) == ["NamespaceDeletionDiscoveryFailure"]


def test_a_failed_deletion_keeps_the_namespace() -> None:
    contents = Contents(deletion_failures=["pods.v1: forbidden"])
    assert not contents.empty
    assert list(problems(contents)) == ["NamespaceDeletionContentFailure"]


def test_only_our_finalizer_is_taken_away() -> None:
    namespace: Object = {"metadata": {"name": "x"}, "spec": {"finalizers": ["kubernetes", "other"]}}
    assert plan.without_finalizer(namespace, "kubernetes")["spec"] == {"finalizers": ["other"]}
    assert namespace["spec"]["finalizers"] == ["kubernetes", "other"]
