from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.nodeipam.ranges import Exhausted, Ranges


def test_nodes_get_consecutive_ranges() -> None:
    ranges = Ranges("10.44.0.0/16", 24)
    assert [ranges.free([]) for _ in range(3)] == ["10.44.0.0/24", "10.44.1.0/24", "10.44.2.0/24"]


def test_a_range_in_use_is_passed_over() -> None:
    assert Ranges("10.44.0.0/16", 24).free(["10.44.0.0/24", "10.44.1.0/24"]) == "10.44.2.0/24"


def test_a_freed_range_is_used_again_when_the_others_are_gone() -> None:
    ranges = Ranges("10.44.0.0/30", 31)
    assert ranges.free([]) == "10.44.0.0/31"
    assert ranges.free(["10.44.0.0/31"]) == "10.44.0.2/31"
    assert ranges.free(["10.44.0.2/31"]) == "10.44.0.0/31"
    with pytest.raises(Exhausted):
        ranges.free(["10.44.0.0/31", "10.44.0.2/31"])


def test_ranges_of_another_size_and_from_elsewhere_are_understood() -> None:
    taken = ["10.44.0.0/20", "192.168.0.0/24", "fd00::/64", "10.44.16.128/25"]
    assert Ranges("10.44.0.0/16", 24).free(taken) == "10.44.17.0/24"


def test_ipv6_works_alike() -> None:
    ranges = Ranges("fd00:44::/48", 64)
    assert [ranges.free([]), ranges.free([])] == ["fd00:44::/64", "fd00:44:0:1::/64"]


@given(st.lists(st.integers(0, 15), max_size=15, unique=True))
def test_what_is_given_never_overlaps_what_is_taken(numbers: list[int]) -> None:
    taken = [f"10.0.{number}.0/24" for number in numbers]
    given_out = ipaddress.ip_network(Ranges("10.0.0.0/20", 24).free(taken))
    assert not any(given_out.overlaps(ipaddress.ip_network(cidr)) for cidr in taken)
