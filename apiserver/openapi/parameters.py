"""The parameters of the API's operations, each described once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    description: str
    place: str = "query"


PLACES = (
    Parameter("name", "string", "name of the object", "path"),
    Parameter("namespace", "string", "object name and auth scope, such as for teams and projects", "path"),
    Parameter("path", "string", "path to the resource", "path"),
)
PRETTY = Parameter("pretty", "string", "If 'true', the output is indented.")
FORCE = Parameter("force", "boolean", "Apply takes conflicting fields over.")
_DRY_RUN = Parameter("dryRun", "string", "'All' goes through every step but the write.")
WRITE = (
    _DRY_RUN,
    Parameter("fieldManager", "string", "The name of who makes the change."),
    Parameter("fieldValidation", "string", "What happens to unknown and duplicate fields: Ignore, Warn or Strict."),
)
DELETE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", "Seconds before the object is deleted; 0 is at once."),
    Parameter("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    Parameter("propagationPolicy", "string", "Orphan, Background or Foreground."),
)
_SELECT = (
    Parameter("continue", "string", "Where the previous page ended."),
    Parameter("fieldSelector", "string", "Restricts the objects by their fields."),
    Parameter("labelSelector", "string", "Restricts the objects by their labels."),
    Parameter("limit", "integer", "The most objects to return."),
    Parameter("resourceVersion", "string", "Which state of the collection is meant."),
    Parameter("resourceVersionMatch", "string", "How resourceVersion is applied."),
    Parameter("sendInitialEvents", "boolean", "A watch begins with the objects that there are."),
    Parameter("timeoutSeconds", "integer", "The most time that the call may take."),
)
LIST = (
    Parameter("allowWatchBookmarks", "boolean", "Send events of type BOOKMARK."),
    *_SELECT,
    Parameter("watch", "boolean", "Stream the changes."),
)
DELETE_ALL = (*DELETE, *_SELECT)

_CONTAINER = Parameter("container", "string", "The container; the pod's only one by default.")
_STREAMS = (
    Parameter("stderr", "boolean", "Redirect standard error."),
    Parameter("stdin", "boolean", "Redirect standard input."),
    Parameter("stdout", "boolean", "Redirect standard output."),
    Parameter("tty", "boolean", "Allocate a terminal."),
)
_PATH = (Parameter("path", "string", "The URL path on the other side."),)
CONNECT: dict[str, tuple[Parameter, ...]] = {
    "attach": (_CONTAINER, *_STREAMS),
    "exec": (
        Parameter("command", "string", "The command to execute, one argument a parameter."),
        _CONTAINER,
        *_STREAMS,
    ),
    "portforward": (Parameter("ports", "integer", "The ports to forward."),),
    "proxy": _PATH,
    "log": (
        _CONTAINER,
        Parameter("follow", "boolean", "Go on as the log grows."),
        Parameter("insecureSkipTLSVerifyBackend", "boolean", "Do not check the kubelet's certificate."),
        Parameter("limitBytes", "integer", "The most bytes to return."),
        Parameter("previous", "boolean", "Of the container before this one."),
        Parameter("sinceSeconds", "integer", "How old the first line may be."),
        Parameter("sinceTime", "string", "The time from which on lines are shown."),
        Parameter("stream", "string", "All, Stdout or Stderr."),
        Parameter("tailLines", "integer", "How many lines from the end."),
        Parameter("timestamps", "boolean", "Begin each line with its time."),
    ),
}
