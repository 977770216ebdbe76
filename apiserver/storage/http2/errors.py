"""What can go wrong with a call, told apart by what a caller may do next.

CallError
├── NotSent           the peer has surely not acted: try again anywhere
├── Interrupted       the connection or stream died under way: the peer may have acted
├── DeadlineExceeded  no answer in time: the peer may have acted
└── RpcError          the peer answered with a gRPC status other than OK
"""

from __future__ import annotations


class CallError(Exception):
    """The root of this room's errors."""


class NotSent(CallError):
    """The request never left, or the peer said that it did not look at it (GOAWAY, REFUSED_STREAM)."""


class Interrupted(CallError):
    """The connection was lost, or the stream reset, after the request left."""


class DeadlineExceeded(CallError):
    """The call's own deadline passed."""


class RpcError(CallError):
    """A gRPC status. `code` is one of the constants below."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} (gRPC status {code})")
        self.code = code
        self.message = message


class ProtocolError(Exception):
    """The peer broke HTTP/2; the connection ends with GOAWAY and this code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


# gRPC status codes that matter here (https://grpc.github.io/grpc/core/md_doc_statuscodes.html)
UNKNOWN = 2
INVALID_ARGUMENT = 3
NOT_FOUND = 5
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
UNAUTHENTICATED = 16
