"""Every operation that our own OpenAPI tells of, with what schemathesis makes of its schemas."""

from __future__ import annotations

from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import given
from hypothesis import strategies as st
from schemathesis.core.errors import SerializationNotPossible

from tests.fuzz import samples
from tests.fuzz import target as targets
from tests.fuzz.budget import examples
from tests.fuzz.target import NAMESPACE, TOKEN, Answer, Target

# They end with another server, which is not there, or do not end at all
_ELSEWHERE = ("/proxy", "/exec", "/attach", "/portforward", "/log", "/watch/", "{path}", "{logpath}")
# A watch does not end; a revision that is not there yet is waited for; nothing may be left of a deleted namespace
_UNWANTED = ("watch", "resourceVersion", "timeoutSeconds", "sendInitialEvents", "follow")
_GROUPS_MIN, _OPERATIONS_MIN = 15, 300


class Operations:
    """All operations of all group-versions, and a session that asks as the cluster's admin."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(target.pki.ca)
        self.all: list[Any] = []
        index = self.session.get(f"{target.url}/openapi/v3", headers=self._headers()).json()["paths"]
        self.groups = [path for path in index if path.startswith(("api/", "apis/")) and path.count("/") in (1, 2)]
        for path in self.groups:
            document = self.session.get(target.url + index[path]["serverRelativeURL"], headers=self._headers()).json()
            found: list[Any] = list(schemathesis.openapi.from_dict(document).get_all_operations())
            for operation in (each.ok() for each in found):
                if not any(part in operation.path for part in _ELSEWHERE):
                    self.all.append(operation)

    def ask(self, case: Any, namespace: str, name: str | None) -> Answer | None:
        """The case, sent to a place that may be there. None: schemathesis cannot write a body of this media type."""
        parameters = dict(case.path_parameters or {})
        parameters.update({"namespace": namespace} if "namespace" in parameters else {})
        parameters.update({"name": name} if "name" in parameters and name else {})
        case.path_parameters = parameters
        case.query = {key: value for key, value in (case.query or {}).items() if key not in _UNWANTED}
        case.headers = {key: value for key, value in (case.headers or {}).items() if key.lower() != "authorization"}
        if isinstance(case.body, dict) and isinstance(case.body.get("metadata"), dict):
            case.body["metadata"] |= {"name": name or "fuzzed"} if namespace == NAMESPACE else {}
            case.body["metadata"].pop("namespace", None)
        try:
            answer = case.call(
                base_url=self._target.url,
                session=self.session,
                headers=self._headers(),
                verify=self.session.verify,
                timeout=targets.SLOW_SECONDS,
            )
        except SerializationNotPossible:
            return None
        self._target.answers[answer.status_code] += 1
        headers = {key.lower(): values[0] for key, values in answer.headers.items()}
        return Answer(answer.status_code, headers, answer.content, answer.elapsed)

    @staticmethod
    def _headers() -> dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def operations(running: Target) -> Any:
    for sample in samples.ALL:
        running.ask("POST", samples.PLACES[sample["kind"]], samples.encoded(sample))
    operations = Operations(running)
    yield operations
    operations.session.close()


def test_there_is_enough_to_ask(operations: Operations) -> None:
    assert len(operations.groups) >= _GROUPS_MIN, operations.groups
    assert len(operations.all) >= _OPERATIONS_MIN


@given(st.data())
@examples(150)
def test_what_our_openapi_tells_is_answered(target: Target, operations: Operations, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(operations.all))
    namespace = data.draw(st.sampled_from((NAMESPACE, NAMESPACE, NAMESPACE, "missing")))
    name = data.draw(st.sampled_from(("sample", "sample", "other", None)))
    answer = operations.ask(data.draw(operation.as_strategy()), namespace, name)
    if answer is not None:
        targets.check(answer)
