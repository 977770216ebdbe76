"""Bodies that were good once: JSON trees in which something was changed, and bytes in which something was flipped."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

_KEYS = (
    "",
    "name",
    "metadata",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "a.b",
    "x" * 300,
    "\u0000",
    "é",
    "~1",
)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from((2**31, -(2**31) - 1, 2**63, 2**64, -1, 0, 1e308, 1e-320)),
    st.text(max_size=8),
    st.sampled_from(
        ("", "1", "-1", "1e1000000", "0x1", "9" * 400, "100%", "2026-01-01T00:00:00Z", "é\u0000", "x" * 70_000)
    ),
)
values = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(_KEYS), st.text(max_size=5)), inner, max_size=3),
    ),
    max_leaves=6,
)


@st.composite
def changed(draw: st.DrawFn, trees: tuple[Any, ...]) -> Any:
    """One of the trees with up to three places replaced, removed, doubled or added to."""
    tree = copy.deepcopy(draw(st.sampled_from(trees)))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_containers(tree))
        if not places:
            return draw(values)
        place = draw(st.sampled_from(places))
        _change(draw, place)
    return tree


def _containers(tree: Any) -> list[Any]:
    found = [tree] if isinstance(tree, dict | list) else []
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        found += _containers(value)
    return found


def _change(draw: st.DrawFn, place: Any) -> None:
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    action = draw(st.sampled_from(("replace", "replace", "remove", "double", "add", "deepen")))
    if not keys or action == "add":
        if isinstance(place, dict):
            place[draw(st.sampled_from(_KEYS))] = draw(values)
        else:
            place.append(draw(values))
        return
    key = draw(st.sampled_from(keys))
    match action:
        case "replace":
            place[key] = draw(values)
        case "remove":
            del place[key]
        case "double":
            if isinstance(place, list):
                place.append(copy.deepcopy(place[key]))
            else:
                place[f"{key}{key}"[:400]] = copy.deepcopy(place[key])
        case "deepen":
            deep: Any = place[key]
            for _ in range(draw(st.sampled_from((1, 5, 50, 120)))):
                deep = [deep] if draw(st.booleans()) else {"a": deep}
            place[key] = deep


@st.composite
def flipped(draw: st.DrawFn, bodies: tuple[bytes, ...]) -> bytes:
    """One of the bodies with bytes changed, cut out, doubled, or its end missing."""
    body = bytearray(draw(st.sampled_from(bodies)))
    for _ in range(draw(st.integers(1, 5))):
        if not body:
            break
        at = draw(st.integers(0, len(body) - 1))
        match draw(st.sampled_from(("set", "cut", "double", "end", "insert"))):
            case "set":
                body[at] = draw(st.integers(0, 255))
            case "cut":
                del body[at : at + draw(st.integers(1, 20))]
            case "double":
                body[at:at] = body[at : at + draw(st.integers(1, 20))]
            case "end":
                del body[max(at, 1) :]
            case "insert":
                body[at:at] = draw(st.binary(min_size=1, max_size=8))
    return bytes(body)
