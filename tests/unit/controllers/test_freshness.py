from __future__ import annotations

from apimachinery.clock import FixedClock
from apimachinery.objects import Object
from controllers import freshness
from controllers.freshness import Freshness


def at(version: str) -> Object:
    return {"metadata": {"name": "x", "uid": "u", "resourceVersion": version}}


def test_a_cache_older_than_our_write_is_behind_until_it_shows_it() -> None:
    subject = Freshness(FixedClock())
    assert not subject.is_behind(at("5"))
    subject.wrote(at("10"))
    assert subject.is_behind(at("9"))
    assert not subject.is_behind(at("10"))
    assert not subject.is_behind(at("9"))  # settled: the note is gone


def test_numbers_compare_as_numbers() -> None:
    subject = Freshness(FixedClock())
    subject.wrote(at("10"))
    assert subject.is_behind(at("9"))
    assert not subject.is_behind(at("100"))


def test_patience_ends() -> None:
    clock = FixedClock()
    subject = Freshness(clock)
    subject.wrote(at("10"))
    clock.advance(freshness.PATIENCE_SECONDS + 1)
    assert not subject.is_behind(at("1"))
