"""Whether a text is a cron schedule: five fields, or one of the `@` words (step A7). Not when it is due."""

from __future__ import annotations

import re

_WORDS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: i for i, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_EVERY = re.compile(r"@every (?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+")


def problem_of(schedule: str) -> str | None:
    """What is wrong with the schedule, in the words of upstream's parser."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if schedule.startswith("@"):
        known = schedule in _WORDS or _EVERY.fullmatch(schedule)
        return None if known else f"unrecognized descriptor: {schedule}"
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]"
    for part, (low, high, words) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            problem = _range(item, low, high, words)
            if problem:
                return problem
    return None


def _range(item: str, low: int, high: int, words: dict[str, int]) -> str | None:
    body, slash, step = item.partition("/")
    start, dash, end = body.partition("-")
    if "/" in step:
        return f"too many slashes: {item}"
    if slash and (not step.isdigit() or int(step) == 0):
        return (
            f"step of range should be a positive number: {item}" if step == "0" else f"failed to parse int from {step}"
        )
    if start in ("*", "?"):
        return f"failed to parse int from {start}" if dash else None
    numbers = []
    for text in [start, end] if dash else [start]:
        value = words.get(text.lower(), int(text) if text.isascii() and text.isdigit() else None)
        if value is None:
            return f"failed to parse int from {text}"
        numbers.append(value)
    if numbers[0] < low:
        return f"beginning of range ({numbers[0]}) below minimum ({low}): {item}"
    if numbers[-1] > high:
        return f"end of range ({numbers[-1]}) above maximum ({high}): {item}"
    if numbers[0] > numbers[-1]:
        return f"beginning of range ({numbers[0]}) beyond end of range ({numbers[-1]}): {item}"
    return None
