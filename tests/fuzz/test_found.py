"""What the fuzzers found, each once, by name."""

from __future__ import annotations

import copy
from typing import Any

from tests.fuzz import samples
from tests.fuzz import target as targets
from tests.fuzz.target import Answer, Target


def created(target: Target, sample: dict[str, Any], *path: Any, value: Any = None) -> Answer:
    """The answer to a sample in which what `path` leads to has another value, or is not there."""
    tree = copy.deepcopy(sample)
    place = tree
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    answer = target.ask("POST", samples.PLACES[sample["kind"]] + "?dryRun=All", samples.encoded(tree))
    targets.check(answer)
    return answer


def test_a_definitions_version_without_a_name_is_invalid(target: Target) -> None:
    assert created(target, samples.DEFINITION, "spec", "versions", 0, "name").code == 422


def test_a_server_whose_api_services_are_deleted_stays_ready(target: Target) -> None:
    """The worker that had not been asked before saw that they were missing, and said so for ever."""
    assert target.ask("DELETE", "/apis/apiregistration.k8s.io/v1/apiservices").code == 200
    for _ in range(20):  # by connections of their own, so that all workers are asked
        assert target.ask("GET", "/readyz", head=b"Connection: close\r\n").code == 200
