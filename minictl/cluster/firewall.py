"""The nodes' way out: forwarding and masquerading on this machine, so that they can pull images from real registries.

Every rule carries the comment `armillary:NAME`, by which it is found and removed again, whoever else has changed the
tables since. Without iptables, or where the kernel refuses, the cluster works all the same, without the outside world;
the caller says so.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

IP_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")
TIMEOUT_SECONDS = 20.0
WAIT_SECONDS = "10"  # for other users of the tables


class Unusable(Exception):
    """iptables cannot be used; the message says why."""


class Rule(NamedTuple):
    table: str
    chain: str
    words: tuple[str, ...]


def rules(name: str, link: str, subnet: str) -> tuple[Rule, ...]:
    """What lets the nodes out, and answers in; nothing is opened towards them. Pure."""
    mark = ("-m", "comment", "--comment", comment(name))
    answers = ("-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED")
    return (
        Rule("nat", "POSTROUTING", ("-s", subnet, "!", "-d", subnet, *mark, "-j", "MASQUERADE")),
        Rule("filter", "FORWARD", ("-i", link, *mark, "-j", "ACCEPT")),
        Rule("filter", "FORWARD", ("-o", link, *answers, *mark, "-j", "ACCEPT")),
    )


def comment(name: str) -> str:
    return f"armillary:{name}"


def ensure(iptables: Path, wanted: tuple[Rule, ...]) -> None:
    """Add the rules that are missing, before others that might drop. Raises Unusable."""
    for rule in wanted:
        if _run(iptables, rule.table, "-C", rule.chain, *rule.words).returncode:
            done = _run(iptables, rule.table, "-I", rule.chain, *rule.words)
            if done.returncode:
                raise Unusable(done.stderr.strip().partition("\n")[0] or f"iptables ended with {done.returncode}")


def remove(iptables: Path, name: str) -> list[str]:
    """Delete every rule with the cluster's comment; those that stay are returned."""
    for table in ("nat", "filter"):
        for words in find(_run(iptables, table, "-S").stdout, name):
            _run(iptables, table, "-D", *words)
    return leftovers(iptables, name)


def leftovers(iptables: Path, name: str) -> list[str]:
    listings = ((table, _run(iptables, table, "-S").stdout) for table in ("nat", "filter"))
    return [f"iptables rule in {table}: {' '.join(w)}" for table, listing in listings for w in find(listing, name)]


def find(listing: str, name: str) -> list[list[str]]:
    """The rules of `iptables -S` with the cluster's comment, each as the words after -A. Pure."""
    lines = (shlex.split(line) for line in listing.splitlines() if line.startswith("-A "))
    return [words[1:] for words in lines if comment(name) in words]


def any_cluster(iptables: Path) -> bool:
    """Whether a cluster's rules are there, of whatever name."""
    return "armillary:" in _run(iptables, "nat", "-S").stdout


def forwards() -> bool:
    return IP_FORWARD.read_text().strip() == "1"


def set_forwarding(on: bool) -> None:
    IP_FORWARD.write_text("1" if on else "0")


def _run(iptables: Path, table: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(iptables), "-w", WAIT_SECONDS, "-t", table, *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unusable(str(error)) from error
