"""`/version`: the release of the Kubernetes API that is served, and what serves it."""

from __future__ import annotations

import platform
from importlib import metadata

import orjson

from apiserver import responses
from apiserver.asgi import Send
from apiserver.request import Request

KUBERNETES = "1.37.0"


def document() -> bytes:
    """`version.Info`. Clients compare major and minor; the suffix says that this is not upstream's build."""
    major, minor, _ = KUBERNETES.split(".")
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    info = {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{KUBERNETES}+armillary-{metadata.version('armillary')}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": platform.python_implementation(),
        "platform": f"{platform.system().lower()}/{machine}",
    }
    return orjson.dumps(info)


async def handle(request: Request, send: Send) -> None:
    await responses.send_json(request, send, 200, document())
