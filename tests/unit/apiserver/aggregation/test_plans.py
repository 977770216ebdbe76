"""What aggregation decides: which APIServices to make, whether one works, in which order all is listed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from apimachinery import errors
from apiserver import config
from apiserver.aggregation import availability, catalog, frontproxy, registration, remotes, services
from apiserver.aggregation.availability import Verdict
from apiserver.aggregation.registration import Served
from apiserver.aggregation.remotes import Remote, ServicePort
from apiserver.registry.call import User
from tests.unit.apiserver.aggregation.test_services import Cache

APPS, WIDGETS = Served("apps", "v1", False), Served("example.com", "v1beta1", True)
REMOTE = Remote("g", "v1", ServicePort("ns", "svc", 443), "", False, False, 1000, 15)


def test_what_is_served_is_registered_at_the_start_and_custom_resources_at_any_time() -> None:
    first = registration.plan([APPS, WIDGETS], [], starting=True)
    assert [obj["metadata"]["name"] for obj in first.create] == ["v1.apps", "v1beta1.example.com"]
    assert [obj["metadata"]["labels"][registration.MANAGED] for obj in first.create] == ["onstart", "true"]
    assert first.create[1]["spec"]["groupPriorityMinimum"] == 1000
    later = registration.plan([APPS, WIDGETS], [], starting=False)
    assert [obj["metadata"]["name"] for obj in later.create] == ["v1beta1.example.com"]
    assert registration.plan([APPS, WIDGETS], first.create, starting=True) == registration.Plan([], [])


def test_only_what_is_ours_and_needed_by_nobody_goes() -> None:
    ours = registration.wish(WIDGETS)
    theirs: dict[str, Any] = {"metadata": {"name": "v1.theirs.com"}, "spec": {"service": {"name": "x"}}}
    taken = {**ours, "metadata": {**ours["metadata"], "name": "v1.taken.com"}, "spec": {"service": {"name": "x"}}}
    assert registration.plan([APPS], [ours, theirs, taken], starting=False).delete == ["v1beta1.example.com"]


def service(**spec: Any) -> dict[str, Any]:
    return {"spec": {"ports": [{"port": 443, "name": "https"}], **spec}}


def endpoints(**more: Any) -> dict[str, Any]:
    return {"ports": [{"name": "https", "port": 8443}], "endpoints": [{"addresses": ["10.0.0.1"], **more}]}


@pytest.mark.parametrize(
    ("found", "slices", "reason"),
    [
        (None, [], "ServiceNotFound"),
        (service(ports=[{"port": 80}]), [], "ServicePortError"),
        (service(), [], "EndpointsNotFound"),
        (service(), [endpoints(conditions={"ready": False})], "MissingEndpoints"),
        (
            service(),
            [{"ports": [{"name": "other", "port": 1}], "endpoints": [{"addresses": ["10.0.0.1"]}]}],
            "MissingEndpoints",
        ),
        (service(), [endpoints(), endpoints(conditions={"ready": False})], None),
        (service(type="ExternalName"), [], None),
    ],
)
def test_a_service_tells_whether_a_server_can_be_asked(found: Any, slices: list[Any], reason: str | None) -> None:
    verdict = availability.of_service(REMOTE, found, slices)
    assert (verdict.reason if verdict else None) == reason


def test_a_condition_keeps_the_time_since_when_it_holds() -> None:
    first = availability.condition(Verdict("False", "ServiceNotFound", "m"), None, "t1")
    other = availability.condition(Verdict("False", "MissingEndpoints", "n"), first, "t2")
    assert (other["reason"], other["lastTransitionTime"]) == ("MissingEndpoints", "t1")
    assert availability.condition(availability.PASSED, other, "t3")["lastTransitionTime"] == "t3"


def test_ready_endpoints_are_found_by_the_ports_name() -> None:
    assert services.ready([endpoints()], "https") == [("10.0.0.1", 8443)]
    assert services.ready([endpoints(conditions={"ready": None})], "https") == [("10.0.0.1", 8443)]
    assert services.ready([endpoints(conditions={"ready": False})], "https") == []
    assert services.ready([endpoints()], "") == []


def test_versions_are_ordered_as_kubernetes_does() -> None:
    mixed = ["v1beta1", "foo1", "v10", "v2", "v1alpha1", "v1beta2", "v1", "v11alpha2"]
    assert sorted(mixed, key=catalog.order) == [
        "v10",
        "v2",
        "v1",
        "v1beta2",
        "v1beta1",
        "v11alpha2",
        "v1alpha1",
        "foo1",
    ]


def test_a_user_is_told_in_headers_that_no_client_can_add_to() -> None:
    user = User("jo", uid="7", groups=("a", "b"), extra={"Scopes/x y": ("1", "2")})
    assert frontproxy.identity(user) == [
        (b"X-Remote-User", b"jo"),
        (b"X-Remote-Uid", b"7"),
        (b"X-Remote-Group", b"a"),
        (b"X-Remote-Group", b"b"),
        (b"X-Remote-Extra-scopes%2Fx%20y", b"1"),
        (b"X-Remote-Extra-scopes%2Fx%20y", b"2"),
    ]


@pytest.mark.parametrize("user", [User("a\r\nX-Remote-Group: system:masters"), User("a", groups=("b\nc",))])
def test_a_user_that_no_header_can_hold_is_refused(user: User) -> None:
    with pytest.raises(errors.InternalError, match="invalid header field value"):
        frontproxy.identity(user)


def test_no_header_gets_through_that_an_extension_server_would_believe_from_us() -> None:
    settings = config.Config(
        (), requestheader_username_headers=("X-Who",), requestheader_extra_headers_prefix=("X-More-",)
    )
    proxy = frontproxy.FrontProxy(settings, found_nowhere())
    sent = [(b"accept", b"x"), (b"x-remote-user", b"root"), (b"X-Remote-Group", b"system:masters")]
    sent += [(b"x-who", b"root"), (b"x-more-scopes", b"all"), (b"x-other", b"y")]
    assert proxy.passed(sent) == [(b"accept", b"x"), (b"x-other", b"y")]


def found_nowhere() -> services.Services:
    return services.Services(Cache({}), random.Random(1), by_endpoints=False)


def test_an_api_service_without_a_service_leads_nowhere_else() -> None:
    assert remotes.of({"spec": {"group": "apps", "version": "v1"}}) is None
    found = remotes.of({"spec": {"group": "g", "version": "v1", "service": {"namespace": "n", "name": "s"}}})
    assert found is not None
    assert found.service == ServicePort("n", "s", 443)
