"""What `up`, `down` and `status` can end with; the message says what is wrong and, after it, what to do."""

from __future__ import annotations


class ClusterError(Exception):
    """The local cluster cannot be had as asked. Printed as it stands, exit code 1."""


class NoCluster(ClusterError):
    """There is no cluster in the folder."""


class NotReady(ClusterError):
    """Something did not become ready in time; what was started stays and can be resumed or removed."""
