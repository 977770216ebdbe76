"""What can go wrong on a node, as one tree.

    NodeError
    ├── RuntimeUnavailable      the container runtime does not answer: wait, nothing is known about the pods
    ├── RuntimeRefused          the runtime answered with an error
    │   ├── NoSuchThing         the id is not known to it (removed meanwhile)
    │   └── RuntimeTimeout      it did not finish in the time it was given
    ├── StartRefused            a container cannot be started now; carries the reason its status shows
    ├── VolumeNotReady          a volume's contents cannot be set up yet
    └── NotAdmitted             the node refuses the pod for good; carries the reason of the pod's status

gRPC's errors are translated in `kubelet/cri.py` and nowhere else. API errors stay `apimachinery.errors`.
"""

from __future__ import annotations


class NodeError(Exception):
    """Anything the kubelet can meet and go on from."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class RuntimeUnavailable(NodeError):
    """The runtime's socket is gone or it is not serving."""


class RuntimeRefused(NodeError):
    """`message` with gRPC's code in front of it, as events show it; `detail` is the runtime's own words alone."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail or message


class NoSuchThing(RuntimeRefused):
    pass


class RuntimeTimeout(RuntimeRefused):
    pass


class StartRefused(NodeError):
    """`reason` is what `state.waiting.reason` shows: ErrImagePull, CreateContainerConfigError, ..."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class VolumeNotReady(NodeError):
    """`volume` is the name in the pod's spec."""

    def __init__(self, volume: str, message: str) -> None:
        super().__init__(message)
        self.volume = volume


class NotAdmitted(NodeError):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
