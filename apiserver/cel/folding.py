"""The loops of the macros.

Costs per element are those of the loops that upstream's macros expand to: reading and testing the accumulator, and
building the list that is added to the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from apiserver.cel.frames import Frame, Run
from apiserver.cel.issues import EvaluationError

_APPEND_COST = 12  # the accumulator, a list of one, their sum


def fold(kind: str, ranged: Run, places: list[int], condition: Run | None, transform: Run | None) -> Run:
    elements = _elements(ranged, places)
    if kind in ("all", "exists"):
        return _quantified(elements, _present(condition), decisive=kind == "exists")
    if kind == "exists_one":
        return _exactly_one(elements, _present(condition))
    if kind in ("filter", "map", "transformList"):
        last = places[-1]
        return _listed(elements, condition, transform or (lambda frame: frame.values[last]))
    if kind == "transformMap":
        return _mapped(elements, condition, _present(transform), places[0])
    return _merged(elements, condition, _present(transform))


def _present(run: Run | None) -> Run:
    assert run is not None, "the parser gives these macros their argument"
    return run


def _elements(ranged: Run, places: list[int]) -> Callable[[Frame], Iterator[None]]:
    """Sets the loop's variables, once for each element."""

    def each(frame: Frame) -> Iterator[None]:
        value = ranged(frame)
        slots = frame.values
        if isinstance(value, list):
            pairs: Any = enumerate(value)
        elif isinstance(value, dict):
            pairs = value.items() if len(places) == 2 else ((None, key) for key in value)
        else:
            raise EvaluationError("no such overload")
        for first, second in pairs:
            slots[places[-1]] = second
            if len(places) == 2:
                slots[places[0]] = first
            yield

    return each


def _quantified(elements: Callable[[Frame], Iterator[None]], condition: Run, *, decisive: bool) -> Run:
    test_cost = 4 if decisive else 3

    def run(frame: Frame) -> bool:
        error: EvaluationError | None = None
        for _ in elements(frame):
            frame.spend(test_cost)
            try:
                value = condition(frame)
            except EvaluationError as failed:
                if frame.exhausted:
                    raise
                error = failed
                continue
            if value is decisive:
                frame.cost += test_cost
                return bool(decisive)
            if type(value) is not bool:
                error = EvaluationError("no such overload")
        frame.cost += 1
        if error is not None:
            raise error
        return not decisive

    return run


def _exactly_one(elements: Callable[[Frame], Iterator[None]], condition: Run) -> Run:
    def run(frame: Frame) -> bool:
        count = 0
        for _ in elements(frame):
            frame.spend(1)
            if _holds(condition, frame):
                frame.cost += 1
                count += 1
        frame.cost += 2
        return count == 1

    return run


def _listed(elements: Callable[[Frame], Iterator[None]], condition: Run | None, transform: Run) -> Run:
    def run(frame: Frame) -> list[Any]:
        built: list[Any] = []
        for _ in elements(frame):
            if condition is not None and not _holds(condition, frame):
                frame.spend(1)
                continue
            built.append(transform(frame))
            frame.spend(_APPEND_COST)
        frame.cost += 1
        return built

    return run


def _mapped(elements: Callable[[Frame], Iterator[None]], condition: Run | None, transform: Run, place: int) -> Run:
    def run(frame: Frame) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for _ in elements(frame):
            if condition is None or _holds(condition, frame):
                built[frame.values[place]] = transform(frame)
            frame.spend(3)
        frame.cost += 1
        return built

    return run


def _merged(elements: Callable[[Frame], Iterator[None]], condition: Run | None, transform: Run) -> Run:
    """`transformMapEntry`: each entry is a map of its own."""

    def run(frame: Frame) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        for _ in elements(frame):
            if condition is None or _holds(condition, frame):
                for key, value in transform(frame).items():
                    if key in built:
                        raise EvaluationError(f"insert failed: key {key} already exists")
                    built[key] = value
            frame.spend(3)
        frame.cost += 1
        return built

    return run


def _holds(condition: Run, frame: Frame) -> bool:
    value = condition(frame)
    if type(value) is not bool:
        raise EvaluationError("no such overload")
    return value
