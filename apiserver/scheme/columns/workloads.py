from __future__ import annotations

from apiserver.scheme.resources import Column

AUTOSCALER: tuple[Column, ...] = ()
CONTROLLER_REVISION: tuple[Column, ...] = ()
CRON_JOB: tuple[Column, ...] = ()
DAEMON_SET: tuple[Column, ...] = ()
DEPLOYMENT: tuple[Column, ...] = ()
JOB: tuple[Column, ...] = ()
POD_TEMPLATE: tuple[Column, ...] = ()
REPLICATION_CONTROLLER: tuple[Column, ...] = ()
REPLICA_SET: tuple[Column, ...] = ()
STATEFUL_SET: tuple[Column, ...] = ()
