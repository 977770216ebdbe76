"""Durations and timestamps: Go's and RFC 3339's texts, to the nanosecond."""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from apiserver.cel.issues import EvaluationError
from apiserver.cel.values import INT_MAX, INT_MIN, NANOS, Duration, Timestamp

_UNITS = {"ns": 1, "us": 1000, "µs": 1000, "μs": 1000, "ms": 10**6, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"([+-]?)((?:{_PART.pattern})+|0)")
_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_OFFSET = re.compile(r"([+-]?)(\d\d):(\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years 1 to 9999
_FIRST, _LAST = -62135596800 * NANOS, 253402300799 * NANOS + NANOS - 1


def duration(text: str) -> Duration:
    """Raises EvaluationError."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise EvaluationError(f'time: invalid duration "{text}"')
    nanos = 0
    for number, unit in _PART.findall(match.group(2)):
        whole, _, fraction = number.partition(".")
        nanos += int(whole or 0) * _UNITS[unit]
        if fraction:
            nanos += int(fraction) * _UNITS[unit] // 10 ** len(fraction)
    return bounded(-nanos if match.group(1) == "-" else nanos)


def bounded(nanos: int) -> Duration:
    if not INT_MIN <= nanos <= INT_MAX:
        raise EvaluationError("duration overflow")
    return Duration(nanos)


def timestamp(text: str) -> Timestamp:
    """Raises EvaluationError."""
    match = _RFC3339.fullmatch(text)
    refused = EvaluationError(f'parsing time "{text}" as "2006-01-02T15:04:05Z07:00": cannot parse "{text}" as "2006"')
    if match is None:
        raise refused
    date, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError as error:
        raise refused from error
    nanos = int((fraction or ".0")[1:10].ljust(9, "0"))
    return within(_whole_seconds(moment) * NANOS + nanos)


def within(nanos: int) -> Timestamp:
    if not _FIRST <= nanos <= _LAST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(nanos)


def of_date(text: str) -> Timestamp:
    """A `format: date`."""
    return timestamp(f"{text}T00:00:00Z")


def moment(value: Timestamp, zone: str = "UTC") -> datetime:
    """The date and time of day in a zone: a name, or an offset as `-08:00`."""
    return (_EPOCH + timedelta(seconds=value.nanos // NANOS)).astimezone(_zone(zone))


def _zone(name: str) -> tzinfo:
    if name in ("UTC", ""):
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        span = timedelta(hours=int(offset.group(2)), minutes=int(offset.group(3)))
        return timezone(-span if offset.group(1) == "-" else span)
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise EvaluationError(f"unknown time zone {name}") from error


def _whole_seconds(moment: datetime) -> int:
    since = moment - _EPOCH
    return since.days * 86400 + since.seconds


def timestamp_text(value: Timestamp) -> str:
    whole = moment(value).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return whole + _fraction(value.nanos % NANOS) + "Z"


def duration_text(value: Duration) -> str:
    sign, nanos = "-" if value.nanos < 0 else "", abs(value.nanos)
    return f"{sign}{nanos // NANOS}{_fraction(nanos % NANOS)}s"


def _fraction(nanos: int) -> str:
    return f".{nanos:09d}".rstrip("0") if nanos else ""
