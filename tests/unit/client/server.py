"""A scripted server at the HTTP seam: each request takes the next answer; what was asked is kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from apimachinery import errors
from client import kubeconfig, rest

Answer = Callable[[httpx.Request], httpx.Response]


class Script:
    """Answers in order; past its end every request hangs, as a quiet watch does."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if not self.answers:
            await asyncio.Event().wait()
        return self.answers.pop(0)(request)

    def query(self, index: int) -> dict[str, str]:
        query = parse_qs(urlsplit(str(self.asked[index].url)).query, keep_blank_values=True)
        return {key: values[0] for key, values in query.items()}


def client(script: Script, **options: Any) -> rest.Client:
    config = options.pop("config", kubeconfig.ClientConfig("http://api.test"))
    return rest.Client(config, make_transport=lambda _: httpx.MockTransport(script), **options)


def answer(body: Any, code: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return lambda _: httpx.Response(code, content=json.dumps(body).encode(), headers=headers)


def refusal(error: errors.APIError, headers: dict[str, str] | None = None) -> Answer:
    return answer(error.to_status(), error.code, headers)


def unreachable(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


def listing(version: str, *items: Any, token: str = "") -> Answer:
    metadata = {"resourceVersion": version} | ({"continue": token} if token else {})
    return answer({"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": list(items)})


def events(*parts: tuple[str, Any], then_hang: bool = False) -> Answer:
    """A watch that sends these events and then ends, or stays open."""

    async def body() -> AsyncIterator[bytes]:
        for kind, obj in parts:
            yield json.dumps({"type": kind, "object": obj}).encode() + b"\n"
        if then_hang:
            await asyncio.Event().wait()

    return lambda _: httpx.Response(200, content=body())


def pod(name: str, version: str, namespace: str = "default", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **fields}
