from __future__ import annotations

import pytest

from apimachinery import objects, selectors
from controllers import ownership
from tests.unit.controllers import builders

SELECTOR = selectors.from_set({"app": "web"})
MATCHES, DIFFERS = {"app": "web"}, {"app": "other"}


def pod(labels: dict[str, str], owner: str = "", **metadata: object) -> objects.Object:
    made = builders.pod("p", labels=labels, **metadata)
    return builders.owned_by(made, owner) if owner else made


@pytest.mark.parametrize(
    ("candidate", "outcome"),
    [
        (pod(MATCHES, "web"), "kept"),
        (pod(DIFFERS, "web"), "release"),
        (pod(MATCHES), "adopt"),
        (pod(DIFFERS), ""),
        (pod(MATCHES, "another"), ""),
        (pod(MATCHES, deletionTimestamp=builders.ago(1)), ""),
        (pod(MATCHES, "web", deletionTimestamp=builders.ago(1)), "kept"),
    ],
)
def test_a_candidate_is_kept_released_adopted_or_left_alone(candidate: objects.Object, outcome: str) -> None:
    claims = ownership.claim(builders.replicaset(1), SELECTOR, [candidate])
    found = [name for name in ("kept", "adopt", "release") if getattr(claims, name)]
    assert found == ([outcome] if outcome else [])


def test_an_owner_that_is_being_deleted_neither_adopts_nor_releases() -> None:
    owner = builders.replicaset(1)
    owner["metadata"]["deletionTimestamp"] = builders.ago(1)
    claims = ownership.claim(owner, SELECTOR, [pod(MATCHES), pod(DIFFERS, "web"), pod(MATCHES, "web")])
    assert not claims
    assert len(claims.kept) == 1
