from __future__ import annotations

from apimachinery.clock import FixedClock
from controllers import expectations
from controllers.expectations import Expectations


def test_an_owner_without_a_round_may_act() -> None:
    assert Expectations(FixedClock()).met("owner")


def test_a_creation_holds_the_owner_back_until_it_is_seen() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.expect_present("owner", "pod")
    assert not subject.met("owner")
    subject.observe_present("owner", "pod")
    assert subject.met("owner")


def test_an_event_that_overtakes_the_answer_counts() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.observe_present("owner", "pod")
    subject.expect_present("owner", "pod")
    assert subject.met("owner")


def test_a_pod_that_came_and_went_before_the_answer_counts() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.observe_gone("owner", "pod")
    subject.expect_present("owner", "pod")
    assert subject.met("owner")


def test_a_deletion_is_not_met_by_seeing_the_pod() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.expect_gone("owner", "pod")
    subject.observe_present("owner", "pod")
    assert not subject.met("owner")
    subject.observe_gone("owner", "pod")
    assert subject.met("owner")


def test_another_owners_pod_counts_for_nothing() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.expect_present("owner", "pod")
    subject.observe_present("other", "pod")
    assert not subject.met("owner")


def test_what_is_never_seen_is_given_up_in_the_end() -> None:
    clock = FixedClock()
    subject = Expectations(clock)
    subject.open("owner")
    subject.expect_present("owner", "pod")
    clock.advance(expectations.TIMEOUT_SECONDS - 1)
    assert not subject.met("owner")
    clock.advance(1)
    assert subject.met("owner")


def test_an_owner_that_vanishes_during_a_write_is_no_error() -> None:
    subject = Expectations(FixedClock())
    subject.open("owner")
    subject.forget("owner")
    subject.expect_present("owner", "pod")
    assert subject.met("owner")
