"""The types of a kubeconfig's fields: which value of a file is of another (step K4).

Guarantees: what passes can be read field by field without asking again what it is. Null is as good as absent, and
fields unknown here are let be, as client-go does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SECTIONS = (("contexts", "context"), ("clusters", "cluster"), ("users", "user"))
_CONTEXT = dict.fromkeys(("cluster", "user", "namespace"), str)
_CLUSTER = {
    **dict.fromkeys(
        ("server", "certificate-authority", "certificate-authority-data", "tls-server-name"),
        str,
    ),
    "insecure-skip-tls-verify": bool,
}
_USER = {
    **dict.fromkeys(("client-certificate", "client-certificate-data", "client-key", "client-key-data"), str),
    **dict.fromkeys(("token", "tokenFile", "username", "password", "as", "as-uid"), str),
    "as-groups": list,
    "exec": dict,
}
_EXEC = {
    **dict.fromkeys(("command", "apiVersion", "installHint"), str),
    "args": list,
    "env": list,
    "provideClusterInfo": bool,
}
_TYPES: Mapping[str, Mapping[str, type]] = {"context": _CONTEXT, "cluster": _CLUSTER, "user": _USER}
_WORDS = {str: "a string", bool: "a boolean", list: "a list", dict: "a mapping"}


def problem(content: Mapping[str, Any]) -> str:
    """The first field that is not what it must be, and what it must be; "" when all are."""
    return next(_problems(content), "")


def _problems(content: Mapping[str, Any]) -> Iterator[str]:
    yield from _fields(content, {"current-context": str, **{section: list for section, _ in SECTIONS}}, "")
    for section, key in SECTIONS:
        for index, entry in enumerate(content.get(section) or []):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                yield f"an entry of {section} has no name"
            yield from _fields(entry, {key: dict}, f"{section}[{index}].")
            yield from _fields(entry.get(key) or {}, _TYPES[key], f"{section}[{index}].{key}.")
            if key == "user":
                yield from _texts((entry.get(key) or {}).get("as-groups") or [], f"{section}[{index}].{key}.as-groups")
                yield from _plugin((entry.get(key) or {}).get("exec") or {}, f"{section}[{index}].{key}.exec.")


def _plugin(entry: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from _fields(entry, _EXEC, where)
    yield from _texts(entry.get("args") or [], f"{where}args")
    for index, item in enumerate(entry.get("env") or []):
        if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in ("name", "value")):
            yield f"{where}env[{index}] must have a name and a value"


def _fields(entry: Mapping[str, Any], types: Mapping[str, type], where: str) -> Iterator[str]:
    for name, kind in types.items():
        value = entry.get(name)
        if value is not None and not isinstance(value, kind):
            yield f"{where}{name} must be {_WORDS[kind]}"


def _texts(values: list[Any], where: str) -> Iterator[str]:
    for index, value in enumerate(values):
        if not isinstance(value, str):
            yield f"{where}[{index}] must be {_WORDS[str]}"
