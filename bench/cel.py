"""`python -m bench.cel`: what CEL rules cost: compiling, evaluating, and the worst that one evaluation may take."""

from __future__ import annotations

import time
from collections.abc import Callable

from apiserver.apiextensions.rules import Rules
from apiserver.cel import rules, schematypes
from apiserver.cel.issues import CostExceeded

ROUNDS = 5_000
_TEXTS = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 63}}
_SCHEMA = {
    "type": "object",
    "properties": {
        "min": {"type": "integer"},
        "replicas": {"type": "integer"},
        "max": {"type": "integer"},
        "memory": {"type": "string", "maxLength": 20},
        "names": _TEXTS,
        "numbers": {"type": "array", "items": {"type": "integer"}},
    },
}
_OBJECT = {
    "metadata": {"name": "web"},
    "min": 1,
    "replicas": 2,
    "max": 3,
    "memory": "1.5Gi",
    "names": ["alpha", "beta", "gamma"],
    "numbers": list(range(1000)),
}
_RULES = (
    "self.replicas > 0",
    "self.min <= self.replicas && self.replicas <= self.max",
    "self.metadata.name == 'web'",
    "!has(self.memory) || quantity(self.memory).isLessThan(quantity('2Gi'))",
    "self.names.all(n, n.startsWith('a') || n.size() < 10)",
    "self.names.all(n, n.matches('^[a-z]+$'))",
)
_WORST = "self.numbers.all(a, self.numbers.all(b, a + b >= 0))"


def microseconds(call: Callable[[], object], rounds: int) -> float:
    start = time.perf_counter()
    for _ in range(rounds):
        call()
    return (time.perf_counter() - start) / rounds * 1e6


def main() -> None:
    declared = schematypes.declared(_SCHEMA, is_resource=True)
    assert declared is not None
    print("| rule | compile µs | evaluate µs | cost |\n|---|---|---|---|")
    for text in _RULES:
        compiling = microseconds(lambda text=text: rules.compile_expression(text, declared), 50)
        program = rules.compile_expression(text, declared)
        bindings = {"self": _OBJECT}
        _, cost = program.evaluate(bindings)
        evaluating = microseconds(lambda: program.evaluate(bindings), ROUNDS)  # noqa: B023  # called at once
        print(f"| `{text}` | {compiling:,.0f} | {evaluating:.1f} | {cost} |")
    schema = {**_SCHEMA, "x-kubernetes-validations": [{"rule": text} for text in _RULES]}
    checked = Rules(schema)
    print(f"\nall of them on one object: {microseconds(lambda: checked.check(_OBJECT, None), 1000):,.0f} µs")
    start = time.perf_counter()
    try:
        rules.compile_expression(_WORST, declared).evaluate({"self": _OBJECT})
    except CostExceeded as error:
        print(f"an evaluation that is ended at its limit ({error.cost:,} units): {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
