"""Objects as text: `-o json`, `yaml`, `name`, `jsonpath=…`, in kubectl's form (sorted keys, no managedFields)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from apimachinery import objects
from apimachinery.objects import Object
from minictl.failures import Refused

if TYPE_CHECKING:
    from minictl.columns import CustomColumns

FORMATS = "json, yaml, name, wide, jsonpath=TEMPLATE, custom-columns=NAME:PATH,…, custom-columns-file=FILE"


def check(form: str | None, allowed: Sequence[str]) -> None:
    """Refuse an output format before any request (K1)."""
    if form and form.startswith(("go-template", "template")):
        raise Refused("minictl has no Go templates: -o jsonpath=TEMPLATE takes fields out of objects")
    if form and form.partition("=")[0] not in allowed:
        shown = ",".join(allowed)
        raise Refused(
            f'unable to match a printer suitable for the output format "{form}", allowed formats are: {shown}'
        )
    if form == "jsonpath":
        raise Refused("template format specified but no template given")


class Printer:
    """Objects one after the other: documents of YAML stand apart, custom columns have one header."""

    def __init__(self, form: str, *, headers: bool = True, managed_fields: bool = False) -> None:
        self._form = form
        self._managed_fields = managed_fields
        self._between = ""
        self._columns: CustomColumns | None = None
        if form.startswith("custom-columns"):
            from minictl import columns

            self._columns = columns.parse(form, headers=headers)

    def text(self, obj: Object, noun: str = "") -> str:
        """One object, or a List. `noun` is what `-o name` puts before the name."""
        if self._columns is not None:
            return self._columns.text(obj)
        before, self._between = self._between, "---\n" if self._form == "yaml" else ""
        return before + render(obj, self._form, noun, managed_fields=self._managed_fields)

    def each(self, found: Sequence[tuple[Object, str]]) -> str:
        """Objects with their nouns, one by one; rows of columns line up over all of them."""
        if self._columns is not None:
            return self._columns.text(as_list([obj for obj, _ in found]))
        return "".join(self.text(obj, noun) for obj, noun in found)


def render(obj: Object, form: str, noun: str = "", *, managed_fields: bool = False) -> str:
    """One object, or a List. `noun` is what `-o name` puts before the name."""
    kind, _, template = form.partition("=")
    if kind == "jsonpath":
        from minictl import jsonpath  # late: tables need none

        return jsonpath.render(template, obj)
    if kind == "name":
        return f"{noun}/{objects.name_of(obj)}\n"
    shown = obj if managed_fields else without_managed_fields(obj)
    if kind == "json":
        return json.dumps(shown, indent=4, sort_keys=True, ensure_ascii=False) + "\n"
    return to_yaml(shown)


def as_list(items: Sequence[Object]) -> Object:
    """Several objects as the List that kubectl makes of them."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(items)}


def without_managed_fields(obj: Object) -> Object:
    if obj.get("kind") == "List" or "items" in obj:
        return obj | {"items": [without_managed_fields(item) for item in obj.get("items") or []]}
    if "managedFields" not in obj.get("metadata", {}):
        return obj
    return obj | {"metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}


def to_yaml(value: Any) -> str:
    """YAML in the form of kubectl: block style, sorted, double quotes where a string needs them."""
    import yaml  # late: tables need none

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        lines = text.split("\n")
        if not all(line.isprintable() for line in lines):
            style: str | None = '"'  # controls and odd line ends survive only as escapes
        elif len(lines) > 1 and not any(line.endswith(" ") for line in lines):
            style = "|"
        else:
            plain = dumper.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # of its stub
            style = '"' if plain != "tag:yaml.org,2002:str" or not text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, string)
    return yaml.dump(value, Dumper=Dumper, default_flow_style=False, sort_keys=True, width=1 << 30, allow_unicode=True)
