from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from apiserver import supervisor


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Somebody who shares its port, as workers do."""
    with supervisor.bind_shared("127.0.0.1", 0) as sock:
        sock.listen(1)
        yield sock


def test_a_port_that_somebody_keeps_is_refused(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with pytest.raises(supervisor.PortTaken, match=rf"cannot listen on 127\.0\.0\.1:{port}: Address already in use"):
        supervisor.reserve("127.0.0.1", port, patience_seconds=0.1)


def test_a_port_that_the_workers_of_a_killed_server_let_go_is_waited_for(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    letting_go = threading.Timer(0.2, listener.close)
    letting_go.start()
    with supervisor.reserve("127.0.0.1", port, patience_seconds=20) as sock:
        assert sock.getsockname()[1] == port
    letting_go.join()


def test_an_address_that_is_not_ours_is_refused_at_once() -> None:
    with pytest.raises(supervisor.PortTaken, match="Cannot assign requested address"):
        supervisor.reserve("192.0.2.1", 65000, patience_seconds=20)
