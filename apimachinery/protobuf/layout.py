"""Which number stands for which field, read from `apimachinery/wire` when the first protobuf body comes or goes."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import NamedTuple

MAGIC = b"k8s\x00"
SCHEMA = "apiextensions.v1.JSONSchemaProps"
LIST = "@list "
"""Before an item's message: the list of such items, which needs no line in the table."""


class Field(NamedTuple):
    """One line of a message. `shape` is "" for one value, "[]", "{}" or "&" (a message that wraps a list)."""

    name: str
    omit_empty: bool
    inline: bool
    shape: str
    kind: str  # s, b, t, i, d, a message's name, or ! and a special's
    inner: str  # the shape of a map's values


@lru_cache(maxsize=1024)
def message_of(api_version: str, kind: str) -> str:
    """The message of a kind, or of the list of a kind; "" where there is none."""
    group, slash, version = api_version.partition("/")
    group, version = (group.partition(".")[0], version) if slash else ("core", api_version)
    table = _table()
    # Options and Status are sent in the group of the resource that they are for
    for name in (f"{group}.{version}.{kind}", f"meta.v1.{kind}"):
        if name in table:
            return name
        if name.endswith("List") and name.removesuffix("List") in table:
            return LIST + name.removesuffix("List")
    return ""


@lru_cache(maxsize=1024)
def of(name: str) -> dict[int, Field]:
    """A message's fields by their numbers."""
    layout: dict[int, Field] = {}
    for part in _line(name).split():
        number, field, kind = part.split(":", 2)
        kind = kind.removeprefix("*")
        shape = next((mark for mark in ("[]", "{}", "&") if kind.startswith(mark)), "")
        kind = kind.removeprefix(shape).removeprefix("*")
        inner = "&" if kind.startswith("&") else ""
        optional = "*" in part.split(":", 2)[2][:1]
        layout[int(number)] = Field(
            field.rstrip("?"),
            field.endswith("?") and not optional,
            field == "^",
            shape,
            kind.removeprefix("&").removeprefix("@"),
            inner,
        )
    return layout


def _line(name: str) -> str:
    if name.startswith(LIST):
        return f"1:metadata?:@meta.v1.ListMeta 2:items:[]@{name.removeprefix(LIST)}"
    return _table()[name]


@lru_cache(maxsize=1)
def _table() -> dict[str, str]:
    """Message → its line."""
    text = resources.files("apimachinery.wire").joinpath("v1.37.txt").read_text()
    lines = (line.partition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: fields for name, _, fields in lines}
