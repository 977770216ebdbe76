"""Types, and when one may stand where another is wanted.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#gradual-type-checking
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

UNBOUNDED = 2**64 - 1
"""The size of what has no bound."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an object type. `key` is its name in the data, where the expression's is an escaped one."""

    type: Type
    key: str


@dataclass(frozen=True, slots=True)
class Type:
    """`kind` is bool, int, uint, double, string, bytes, duration, timestamp, null, dyn, list, map, object, opaque,
    optional, type, param or error. What the schema says of a value's size and lists is no part of its identity.
    """

    kind: str
    name: str = ""
    params: tuple[Type, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict, compare=False, hash=False, repr=False)
    max_size: int = field(default=UNBOUNDED, compare=False, hash=False, repr=False)
    list_type: str = field(default="", compare=False, hash=False, repr=False)
    list_keys: tuple[str, ...] = field(default=(), compare=False, hash=False, repr=False)

    def __str__(self) -> str:
        if self.kind in ("list", "map", "type"):
            inner = ", ".join(map(str, self.params))
            return f"{self.kind}({inner})" if inner else self.kind
        if self.kind == "optional":
            return f"optional_type({self.params[0]})"
        return "object" if self.name.startswith("object<") else self.name or self.kind


BOOL, INT, UINT, DOUBLE, STRING, BYTES = map(Type, ("bool", "int", "uint", "double", "string", "bytes"))
DURATION, TIMESTAMP, NULL, DYN, ERROR = map(Type, ("duration", "timestamp", "null", "dyn", "error"))
TYPE = Type("type")

_NULLABLE = frozenset({"null", "dyn", "object", "opaque", "duration", "timestamp"})


def list_of(item: Type, **said: object) -> Type:
    return Type("list", "", (item,), **said)  # type: ignore[arg-type]  # the dataclass names them


def map_of(key: Type, value: Type, **said: object) -> Type:
    return Type("map", "", (key, value), **said)  # type: ignore[arg-type]  # the dataclass names them


def optional_of(value: Type) -> Type:
    return Type("optional", "", (value,))


def opaque(name: str) -> Type:
    return Type("opaque", name)


class Substitution:
    """What the type parameters of an expression were found to be."""

    def __init__(self) -> None:
        self._found: dict[str, Type] = {}
        self._count = 0

    def fresh(self) -> Type:
        self._count += 1
        return Type("param", f"%{self._count}")

    def renamed(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """The types with fresh parameters in the place of their own."""
        names: dict[str, Type] = {}
        return tuple(self._rename(each, names) for each in types)

    def _rename(self, given: Type, names: dict[str, Type]) -> Type:
        if given.kind == "param":
            if given.name not in names:
                names[given.name] = self.fresh()
            return names[given.name]
        if not given.params:
            return given
        return _with(given, tuple(self._rename(param, names) for param in given.params))

    def resolve(self, given: Type, *, free: bool = False) -> Type:
        """The type with all that is known put in; parameters still open are dyn unless they may stay free."""
        if given.kind == "param":
            found = self._found.get(given.name)
            if found is None:
                return given if free else DYN
            return self.resolve(found, free=free)
        if not given.params:
            return given
        return _with(given, tuple(self.resolve(param, free=free) for param in given.params))

    def assignable(self, pairs: list[tuple[Type, Type]]) -> bool:
        """Whether each first may stand where its second is wanted. What was found on the way is kept only if so."""
        before = dict(self._found)
        if all(self._one(source, target) for source, target in pairs):
            return True
        self._found = before
        return False

    def _one(self, source: Type, target: Type) -> bool:
        source, target = self._known(source), self._known(target)
        if source.kind == "param" or target.kind == "param":
            return self._bind(source, target)
        if "error" in (source.kind, target.kind) or "dyn" in (source.kind, target.kind):
            return True
        if source.kind == "null":
            return target.kind in _NULLABLE
        if target.kind == "null":
            return source.kind in _NULLABLE
        if source.kind != target.kind:
            return False
        if source.kind == "type" or source.kind in ("object", "opaque"):
            return source.kind == "type" or source.name == target.name
        return all(map(self._one, source.params, target.params))

    def _known(self, given: Type) -> Type:
        while given.kind == "param" and given.name in self._found:
            given = self._found[given.name]
        return given

    def _bind(self, source: Type, target: Type) -> bool:
        if source == target:
            return True
        open_one, other = (target, source) if target.kind == "param" else (source, target)
        if _mentions(self.resolve(other, free=True), open_one.name):
            return False
        self._found[open_one.name] = other
        return True

    def join(self, one: Type, other: Type) -> Type:
        """The type of what is either; dyn when they have none in common."""
        if self.assignable([(one, other)]):
            return other if one.kind in ("dyn", "null") else self.resolve(one, free=True)
        return DYN


def _with(given: Type, params: tuple[Type, ...]) -> Type:
    if params == given.params and all(a is b for a, b in zip(params, given.params, strict=True)):
        return given
    return Type(given.kind, given.name, params, given.fields, given.max_size, given.list_type, given.list_keys)


def _mentions(given: Type, name: str) -> bool:
    return given.name == name if given.kind == "param" else any(_mentions(param, name) for param in given.params)
