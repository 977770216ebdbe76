"""What resourceVersion and resourceVersionMatch mean to get, list and watch: upstream's tables, row by row.

Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

from __future__ import annotations

import asyncio

import pytest

from apimachinery import errors
from apiserver.registry.options import ListOptions
from tests import etcd as etcds
from tests.component.registry.conftest import Api, Watched, config_map, started

FUTURE = 10**12


class History:
    """ConfigMaps a, b, c: made in this order, then a was changed. `at` has the revisions after each step."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.at: dict[str, str] = {}

    async def make(self) -> None:
        for name in "abc":
            self.at[name] = (await self.api.create("configmaps", config_map(name, n="1")))["metadata"][
                "resourceVersion"
            ]
        changed = await self.api.patch("configmaps", "a", {"data": {"n": "2"}})
        self.at["changed"] = changed["metadata"]["resourceVersion"]
        await self.api.store.wait_for(int(self.at["changed"]))

    def revision(self, word: str) -> str:
        """`b` stands for the revision at which b was made, `future` for one that is not yet."""
        return str(FUTURE) if word == "future" else self.at.get(word, word)


@pytest.fixture
async def history(api: Api) -> History:
    made = History(api)
    await made.make()
    return made


async def seen(history: History, query: dict[str, str]) -> tuple[str, str]:
    """What a list gives: the names, with those of the changed state in capitals, and the revision as a word."""
    asked = {key: history.revision(value) for key, value in query.items()}
    result = await history.api.list("configmaps", **asked)
    names = "".join(
        item.object["metadata"]["name"].upper() if item.object["data"]["n"] == "2" else item.object["metadata"]["name"]
        for item in result.items
    )
    words = [word for word, revision in history.at.items() if int(revision) == result.revision]
    return names, words[0] if words else "newest"


NEWEST = ("Abc", "changed")


@pytest.mark.parametrize(
    ("query", "result"),
    [
        ({}, NEWEST),
        ({"resourceVersion": "0"}, NEWEST),
        ({"resourceVersion": "b"}, NEWEST),
        ({"resourceVersion": "b", "resourceVersionMatch": "NotOlderThan"}, NEWEST),
        ({"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"}, NEWEST),
        ({"resourceVersion": "b", "resourceVersionMatch": "Exact"}, ("ab", "b")),
        ({"resourceVersion": "c", "resourceVersionMatch": "Exact"}, ("abc", "c")),
        ({"limit": "2"}, ("Ab", "changed")),
        ({"limit": "2", "resourceVersion": "0"}, ("Ab", "changed")),
        ({"limit": "2", "resourceVersion": "c"}, ("ab", "c")),
        ({"limit": "2", "resourceVersion": "c", "resourceVersionMatch": "Exact"}, ("ab", "c")),
        ({"limit": "2", "resourceVersion": "c", "resourceVersionMatch": "NotOlderThan"}, ("Ab", "changed")),
        ({"fieldSelector": "metadata.name=a", "resourceVersion": "c"}, ("A", "changed")),
        ({"fieldSelector": "metadata.name=a", "resourceVersion": "c", "resourceVersionMatch": "Exact"}, ("a", "c")),
        ({"fieldSelector": "metadata.name=c", "resourceVersion": "b", "resourceVersionMatch": "Exact"}, ("", "b")),
    ],
)
async def test_what_a_list_gives(history: History, query: dict[str, str], result: tuple[str, str]) -> None:
    assert await seen(history, query) == result


INVALID = 'ListOptions.meta.k8s.io "" is invalid: '
NO_VERSION = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ({"resourceVersionMatch": "Exact"}, 422, INVALID + NO_VERSION),
        ({"resourceVersionMatch": "NotOlderThan", "limit": "1"}, 422, INVALID + NO_VERSION),
        (
            {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
            422,
            f'{INVALID}resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for '
            'resourceVersion "0"',
        ),
        (
            {"resourceVersion": "x"},
            400,
            'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": '
            "invalid syntax",
        ),
    ],
)
async def test_what_a_list_refuses(history: History, query: dict[str, str], code: int, message: str) -> None:
    with pytest.raises(errors.APIError) as caught:
        await seen(history, query)
    assert (caught.value.status_code, caught.value.message) == (code, message)


async def test_a_token_takes_no_other_version(history: History) -> None:
    token = (await history.api.list("configmaps", limit="1")).continue_token
    for version in ("", "0"):  # "0" is invalid, upstream says, and takes it
        page = await history.api.list("configmaps", **{"limit": "1", "continue": token, "resourceVersion": version})
        assert [item.object["metadata"]["name"] for item in page.items] == ["b"]
    with pytest.raises(errors.BadRequest, match="specifying resource version is not allowed when using continue"):
        await history.api.list("configmaps", **{"continue": token, "resourceVersion": history.at["b"]})


async def test_pages_of_an_old_version_stay_in_it(history: History) -> None:
    first = await history.api.list("configmaps", limit="1", resourceVersion=history.at["b"])
    assert first.remaining == 1
    second = await history.api.list("configmaps", limit="5", **{"continue": first.continue_token})
    assert [item.object["metadata"]["name"] for item in second.items] == ["b"]
    assert (str(second.revision), second.continue_token) == (history.at["b"], "")


async def test_a_version_to_come_is_too_large(history: History) -> None:
    future = str(FUTURE)
    initial: dict[str, str] = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    get = history.api.call("get", "configmaps", "a")
    outcomes = await asyncio.gather(  # most of them wait a while for it
        seen(history, {"resourceVersion": future}),
        seen(history, {"resourceVersion": future, "resourceVersionMatch": "NotOlderThan"}),
        seen(history, {"resourceVersion": future, "resourceVersionMatch": "Exact"}),
        seen(history, {"resourceVersion": future, "limit": "1"}),
        seen(history, {"resourceVersion": future, "fieldSelector": "metadata.name=a"}),
        watched(history, resourceVersion=future, **initial),
        history.api.registry.get(get, resource_version=future),
        return_exceptions=True,
    )
    for outcome in outcomes:
        assert isinstance(outcome, errors.Timeout), outcome
        _check_too_large(outcome)


def _check_too_large(error: errors.APIError) -> None:
    status = error.to_status()
    assert (status["code"], status["reason"]) == (504, "Timeout")
    assert status["message"].startswith(f"Timeout: Too large resource version: {FUTURE}, current: ")
    assert status["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert status["details"]["retryAfterSeconds"] == 1


@pytest.mark.parametrize(("version", "data"), [(None, "2"), ("0", "2"), ("b", "2"), ("changed", "2")])
async def test_what_a_get_gives(history: History, version: str | None, data: str) -> None:
    asked = None if version is None else history.revision(version)
    assert (await history.api.registry.get(history.api.call("get", "configmaps", "a"), resource_version=asked)).object[
        "data"
    ] == {"n": data}


async def test_a_get_refuses_what_is_no_version(history: History) -> None:
    with pytest.raises(errors.BadRequest, match="invalid resource version"):
        await history.api.registry.get(history.api.call("get", "configmaps", "a"), resource_version="x")


async def watched(history: History, until: str | None = None, **query: str) -> list[str]:
    """What a watch sees at once and up to the making of `until`: A, M and D with the name; B for a bookmark."""
    seen = Watched()
    asked = {key: history.revision(value) for key, value in query.items()}
    call = history.api.call("watch", "configmaps")
    watch = await history.api.registry.watch(call, ListOptions.from_query(asked), seen, on_close=lambda error: None)
    if until is not None:
        await history.api.create("configmaps", config_map(until))
        async with asyncio.timeout(5):
            while ("ADDED", until) not in seen.seen:
                await asyncio.sleep(0.005)
    watch.close()
    return [f"{kind[0]}{name}" for kind, name in seen.seen]


STATE = ["Aa", "Ab", "Ac"]


@pytest.mark.parametrize(
    ("query", "events"),
    [
        ({}, [*STATE, "Az"]),
        ({"resourceVersion": "0"}, [*STATE, "Az"]),
        ({"resourceVersion": "b"}, ["Ac", "Ma", "Az"]),
        ({"resourceVersion": "changed"}, ["Az"]),
        ({"allowWatchBookmarks": "true"}, [*STATE, "B", "Az"]),
        ({"allowWatchBookmarks": "true", "resourceVersion": "0"}, [*STATE, "B", "Az"]),
        ({"allowWatchBookmarks": "true", "resourceVersion": "changed"}, ["Az"]),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}, [*STATE, "Az"]),
        (
            {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"},
            [*STATE, "B", "Az"],
        ),
        (
            {
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "allowWatchBookmarks": "true",
                "resourceVersion": "b",
            },
            [*STATE, "B", "Az"],
        ),
        ({"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}, ["Az"]),
        ({"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan", "resourceVersion": "c"}, ["Ma", "Az"]),
    ],
)
async def test_what_a_watch_sees(history: History, query: dict[str, str], events: list[str]) -> None:
    assert await watched(history, "z", **query) == events


async def test_a_watch_from_a_version_to_come_waits_for_it(history: History) -> None:
    ahead = str(int(history.at["changed"]) + 2)
    seen = Watched()
    call = history.api.call("watch", "configmaps")
    watch = await history.api.registry.watch(
        call, ListOptions.from_query({"resourceVersion": ahead}), seen, on_close=lambda error: None
    )
    made = [await history.api.create("configmaps", config_map(f"new{index}")) for index in range(4)]
    async with asyncio.timeout(5):
        while not seen.events or seen.events[-1].stored.revision < int(made[-1]["metadata"]["resourceVersion"]):
            await asyncio.sleep(0.005)
    watch.close()
    assert [event.stored.revision for event in seen.events] == [
        int(obj["metadata"]["resourceVersion"]) for obj in made if int(obj["metadata"]["resourceVersion"]) > int(ahead)
    ]


async def test_a_watch_refuses_what_is_no_version(history: History) -> None:
    with pytest.raises(errors.Invalid) as caught:
        await watched(history, resourceVersion="x")
    assert caught.value.message == (
        'configmaps "" is invalid: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax'
    )


async def test_versions_that_are_no_longer_kept_are_gone(history: History, registry_etcd: etcds.Cluster) -> None:
    newest = int((await history.api.create("configmaps", config_map("z")))["metadata"]["resourceVersion"])
    await history.api.store.compact(newest)
    async with started(history.api.registry.scheme, registry_etcd, history.api.namespace) as fresh:
        late = History(fresh)
        late.at = history.at
        with pytest.raises(errors.Expired) as caught:
            await seen(late, {"resourceVersion": "b", "resourceVersionMatch": "Exact"})
        assert caught.value.message == "The resourceVersion for the provided list is too old."
        assert (caught.value.status_code, caught.value.status_reason) == (410, "Expired")
        with pytest.raises(errors.Expired, match=r"too old resource version: \d+ \(\d+\)"):
            await watched(late, resourceVersion="b")


async def test_a_deletion_is_seen_at_its_own_revision(history: History) -> None:
    seen = Watched()
    call = history.api.call("watch", "configmaps")
    asked = ListOptions.from_query({"resourceVersion": history.at["changed"]})
    watch = await history.api.registry.watch(call, asked, seen, on_close=lambda error: None)
    await history.api.delete("configmaps", "b")
    async with asyncio.timeout(5):
        while not seen.events:
            await asyncio.sleep(0.005)
    watch.close()
    [event] = seen.events
    assert event.type == "DELETED"
    assert event.stored.object["metadata"]["resourceVersion"] == str(event.stored.revision)
    assert event.stored.revision > int(history.at["changed"])
