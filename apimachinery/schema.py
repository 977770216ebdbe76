"""The shape of every kind: which fields it has, of which type, and how lists and maps in it are merged.

A `Node` is one type, compiled once and shared. `check` walks a decoded value as Kubernetes' typed decoder would: the
first value of a wrong type raises `TypeMismatch` in the decoder's words, unknown fields are removed and noted, null
means absent, quantities and times become canonical. So what passes is what upstream would have stored.
Guarantees: `check` changes the value it is given, in place where it can, and returns what to use instead.
Does not validate: required fields and allowed values are each kind's own matter.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from apimachinery import clock, gotext, quantity


class TypeMismatch(ValueError):
    """A value has a type or form that its field cannot hold; the message is the one of upstream's decoder.

    `unstructured` is what its converter says instead, which patches use.
    """

    def __init__(self, message: str, unstructured: str = "") -> None:
        super().__init__(message)
        self.unstructured = unstructured or message


class Walk:
    """Where a walk is, and what it has noted. One a decoded object; not used again after a TypeMismatch."""

    __slots__ = ("path", "struct", "unknown")

    def __init__(self) -> None:
        self.path: list[str | int] = []
        self.struct = ""  # Go's name of the innermost object that holds the field
        self.unknown: list[str] = []  # paths with indexes, as `spec.containers[0].foo`

    def note_unknown(self, name: str) -> None:
        self.unknown.append(render_path([*self.path, name]))

    def mismatch(self, value: Any, go_type: str) -> TypeMismatch:
        fields = ".".join(part for part in self.path if isinstance(part, str))
        where = f"Go struct field {self.struct}.{fields}" if fields else "Go value"
        message = f"json: cannot unmarshal {gotext.json_type(value)} into {where} of type {go_type}"
        return TypeMismatch(message, _unconverted(value, go_type))


def render_path(path: list[str | int]) -> str:
    """`spec.containers[0].image`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def _unconverted(value: Any, go_type: str) -> str:
    kind = gotext.kind(value)
    if go_type.startswith("[]") and go_type != "[]uint8":
        return f"cannot restore slice from {kind}"
    if go_type.startswith("map["):
        return f"cannot restore map from {kind}"
    if "." in go_type:
        return f"cannot restore struct from: {kind}"
    return f"cannot convert {kind} to {go_type}"


class Node:
    """One type. `plain` is the Python type whose every value is right as it is, so that no call is needed for it."""

    __slots__ = ()
    plain: type | None = None
    go_type = "interface {}"

    def check(self, value: Any, walk: Walk) -> Any:
        """`value` as it will be stored. Raises TypeMismatch."""
        return value

    def zero(self) -> Any:
        """What null stands for within a list or a map."""
        return None


class Anything(Node):
    """Free-form JSON: embedded objects, field sets, defaults in custom resource schemas."""

    __slots__ = ()


class String(Node):
    __slots__ = ()
    plain = str
    go_type = "string"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not str:
            raise walk.mismatch(value, "string")
        return value

    def zero(self) -> Any:
        return ""


class Boolean(Node):
    __slots__ = ()
    plain = bool
    go_type = "bool"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not bool:
            raise walk.mismatch(value, "bool")
        return value

    def zero(self) -> Any:
        return False


class Integer(Node):
    __slots__ = ("go_type", "limit")

    def __init__(self, bits: int) -> None:
        self.go_type = f"int{bits}"
        self.limit = 1 << (bits - 1)

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is float and value.is_integer() and abs(value) < 2**53:
            value = int(value)
        if type(value) is not int:
            raise walk.mismatch(value, self.go_type)
        if not -self.limit <= value < self.limit:
            raise TypeMismatch(str(walk.mismatch(value, self.go_type)).replace("number", f"number {value}", 1))
        return value

    def zero(self) -> Any:
        return 0


class Number(Node):
    __slots__ = ()
    go_type = "float64"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not float and type(value) is not int:
            raise walk.mismatch(value, "float64")
        return value

    def zero(self) -> Any:
        return 0


class Bytes(Node):
    """Base64 text."""

    __slots__ = ()
    go_type = "[]uint8"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not str:
            raise walk.mismatch(value, self.go_type)
        text = value.replace("\n", "").replace("\r", "")
        try:
            if len(text) % 4:  # Python's decoder forgives padding that is too long
                raise binascii.Error("incorrect padding")
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise TypeMismatch(f"illegal base64 data at input byte {_base64_fault(text)}") from error
        return text

    def zero(self) -> Any:
        return ""


def _base64_fault(text: str) -> int:
    match = re.search(r"[^A-Za-z0-9+/]", text)
    return match.start() if match else len(text) // 4 * 4


class Time(Node):
    """`metav1.Time`, or MicroTime when `micro`."""

    __slots__ = ("canonical", "micro")
    _seconds = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    _micros = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
    go_type = "string"

    def __init__(self, *, micro: bool) -> None:
        self.micro = micro
        self.canonical = self._micros if micro else self._seconds

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not str:
            raise TypeMismatch(f"json: cannot unmarshal {gotext.json_type(value)} into Go value of type string")
        try:
            moment = clock.parse_rfc3339(value)
        except ValueError as error:
            layout = "2006-01-02T15:04:05.000000Z07:00" if self.micro else "2006-01-02T15:04:05Z07:00"
            raise TypeMismatch(f'parsing time "{value}" as "{layout}": cannot parse "{value}" as "2006"') from error
        if self.canonical.fullmatch(value):
            return value
        return clock.rfc3339_micro(moment) if self.micro else clock.rfc3339(moment)


class Quantity(Node):
    __slots__ = ()
    go_type = "resource.Quantity"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not str and type(value) is not int and type(value) is not float:
            raise TypeMismatch(quantity.REFUSED)
        try:
            return quantity.canonical(value.strip() if isinstance(value, str) else value)
        except quantity.QuantityError as error:
            raise TypeMismatch(str(error)) from error

    def zero(self) -> Any:
        return "0"


class IntOrString(Node):
    __slots__ = ()
    go_type = "intstr.IntOrString"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is str:
            return value
        if type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
            raise TypeMismatch(f"json: cannot unmarshal {gotext.json_type(value)} into Go value of type int32")
        return value

    def zero(self) -> Any:
        return 0


class List(Node):
    """An array. `list_type` is atomic, set or map; a map list's items are told apart by the values of `keys`.

    `key_defaults` has the values of keys that an item may leave out.
    """

    __slots__ = ("item", "key_defaults", "keys", "list_type")
    item: Node

    def __init__(
        self,
        item: Node,
        list_type: str = "atomic",
        keys: tuple[str, ...] = (),
        key_defaults: dict[str, Any] | None = None,
    ) -> None:
        self.item = item
        self.list_type = list_type
        self.keys = keys
        self.key_defaults = key_defaults or {}

    @property
    def go_type(self) -> str:  # type: ignore[override]  # a class attribute elsewhere
        return f"[]{self.item.go_type}"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not list:
            raise walk.mismatch(value, self.go_type)
        item, plain, path = self.item, self.item.plain, walk.path
        for index, element in enumerate(value):
            if type(element) is plain:
                continue
            if element is None:
                value[index] = item.zero()
                continue
            path.append(index)
            value[index] = item.check(element, walk)
            path.pop()
        return value

    def zero(self) -> Any:
        return []


class Map(Node):
    """An object with free keys and one type of value."""

    __slots__ = ("atomic", "value")
    value: Node

    def __init__(self, value: Node, *, atomic: bool = False) -> None:
        self.value = value
        self.atomic = atomic

    @property
    def go_type(self) -> str:  # type: ignore[override]  # a class attribute elsewhere
        return f"map[string]{self.value.go_type}"

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not dict:
            raise walk.mismatch(value, self.go_type)
        node, plain = self.value, self.value.plain
        for key, element in value.items():
            if type(element) is plain:
                continue
            value[key] = node.zero() if element is None else node.check(element, walk)
        return value

    def zero(self) -> Any:
        return {}


class Field:
    """One field of an object: its type, and how a strategic merge patch treats it."""

    __slots__ = ("atomic", "inline", "merge_key", "node", "plain", "strategies")

    def __init__(
        self,
        node: Node,
        strategies: tuple[str, ...] = (),
        merge_key: str = "",
        atomic: bool = False,
        inline: bool = False,
    ) -> None:
        self.node = node
        self.plain = node.plain
        self.strategies = strategies  # merge, replace, retainKeys
        self.merge_key = merge_key  # tells apart the items of a list that is merged
        self.atomic = atomic  # an object that has one owner as a whole
        self.inline = inline  # there even when it is empty, so that it is never added: a struct's value in Go


class Struct(Node):
    """An object with named fields. `name` is Go's, as decode errors show it. `open` keeps fields that are unknown."""

    __slots__ = ("atomic", "fields", "go_type", "name", "open", "required")

    def __init__(self, name: str, go_type: str) -> None:
        self.name = name
        self.go_type = go_type
        self.fields: dict[str, Field] = {}
        self.required: frozenset[str] = frozenset()
        self.atomic = False
        self.open = False

    def check(self, value: Any, walk: Walk) -> Any:
        if type(value) is not dict:
            raise walk.mismatch(value, self.go_type)
        fields, path, outer = self.fields, walk.path, walk.struct
        walk.struct = self.name
        drop: list[str] = []
        for name, element in value.items():
            field = fields.get(name)
            if field is None:
                if not self.open:
                    walk.note_unknown(name)
                    drop.append(name)
            elif type(element) is field.plain:
                continue
            elif element is None:
                drop.append(name)
            else:
                path.append(name)
                value[name] = field.node.check(element, walk)
                path.pop()
        walk.struct = outer
        for name in drop:
            del value[name]
        return value

    def zero(self) -> Any:
        return {}


STRING, BOOLEAN, INT32, INT64, NUMBER = String(), Boolean(), Integer(32), Integer(64), Number()
BYTES, TIME, MICRO_TIME, QUANTITY = Bytes(), Time(micro=False), Time(micro=True), Quantity()
INT_OR_STRING, ANYTHING = IntOrString(), Anything()
