from __future__ import annotations

from minictl.cluster import apt

DEPENDS = """\
iptables
  Depends: libip4tc2
  PreDepends: libc6
 |Depends: libmnl0
  Depends: <virtual-thing>
  Suggests: firewalld
libip4tc2
  Depends: libc6
<virtual-thing>
  Depends: libignored
libmnl0
  Depends: libdeep
libdeep
libc6
netbase
"""


def test_dependencies_are_read_and_virtual_packages_left_out() -> None:
    graph = apt.parse_depends(DEPENDS)
    assert graph["iptables"] == ["libip4tc2", "libc6", "libmnl0"]
    assert "<virtual-thing>" not in graph


def test_the_closure_follows_only_what_is_accepted() -> None:
    graph = apt.parse_depends(DEPENDS)
    assert apt.closure(graph, "iptables", lambda name: name != "libc6") == [
        "iptables",
        "libip4tc2",
        "libmnl0",
        "libdeep",
    ]


def test_the_closure_ends_on_a_cycle() -> None:
    graph = {"a": ["b"], "b": ["a"]}
    assert apt.closure(graph, "a", lambda _: True) == ["a", "b"]
