from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from apiserver.admission import plugins
from apiserver.admission.chain import Chain, Mutator, Review, Validator
from apiserver.registry.call import LOOPBACK, Call
from apiserver.scheme.resources import Resource

PODS = Resource("", "v1", "pods", "Pod", "pod", True, "/registry/pods")
NOTHING: Any = None
PARTS = plugins.Parts(*([NOTHING] * len(dataclasses.fields(plugins.Parts))))


@pytest.mark.parametrize("row", plugins.PLUGINS, ids=plugins.NAMES)
def test_a_row_builds_the_plugin_of_its_name(row: plugins.Row) -> None:
    (plugin,) = plugins.build(PARTS, {row.name})
    assert plugin.name == row.name
    assert isinstance(plugin, Mutator | Validator)
    assert any(plugin.handles(operation) for operation in ("CREATE", "UPDATE", "DELETE", "CONNECT"))


def test_plugins_are_asked_in_the_order_of_the_rows() -> None:
    assert [plugin.name for plugin in plugins.build(PARTS, plugins.NAMES[::-1])] == list(plugins.NAMES)


def test_reading_flags_imports_no_plugin() -> None:
    program = (
        "import sys, apiserver.config\n"
        "print([name for name in sys.modules if name.startswith('apiserver.')])\n"
        "print([name for name in ('httpx', 'orjson', 'uvicorn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    ours, heavy = map(eval, done.stdout.splitlines())
    assert set(ours) == {"apiserver.config", "apiserver.admission", "apiserver.admission.plugins"}
    assert heavy == []


class _Both:
    name = "Both"

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def handles(self, operation: str) -> bool:
        return operation == "CREATE"

    async def mutate(self, review: Review) -> Any:
        self._seen.append(f"mutate {review.obj}")
        return {"changed": True}

    async def validate(self, review: Review) -> None:
        self._seen.append(f"validate {review.obj}")


async def test_a_plugin_that_changes_and_refuses_is_asked_in_both_rounds() -> None:
    seen: list[str] = []
    chain = Chain([_Both(seen)])
    call = Call(LOOPBACK, PODS, "create")
    changed = await chain.mutate(call, "CREATE", {}, None)
    await chain.validate(call, "CREATE", changed, None)
    await chain.validate(call, "DELETE", None, changed)
    assert seen == ["mutate {}", "validate {'changed': True}"]
