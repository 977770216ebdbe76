"""From the flags of `run` to an object (step K2). Pure: the same flags give the same object.

`--restart` chooses: Always a Deployment (apps/v1), OnFailure a Job (batch/v1), Never a Pod (v1). Pods are labelled
`run=NAME`, which is also the Deployment's selector, unless `--labels` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apimachinery.objects import Object
from minictl.failures import Refused

CHANGE_CAUSE = "kubernetes.io/change-cause"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for, checked (`minictl.validation`). None: not given."""

    name: str
    image: str
    restart: str = "Always"
    replicas: int | None = None
    port: int | None = None
    env: Sequence[Mapping[str, str]] = ()
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()  # what follows `--`
    as_command: bool = False  # `words` replace the image's entry point instead of its arguments
    pull_policy: str = ""
    service_account: str = ""
    change_cause: str = ""  # --record


def generate(options: RunOptions) -> Object:
    """The object for `--restart`. Raises Refused for flags that do not go together."""
    generator = GENERATORS.get(options.restart)
    if generator is None:
        raise Refused(f"invalid restart policy: {options.restart} (expected Always, OnFailure or Never)")
    if options.replicas is not None and options.restart != "Always":
        raise Refused(f"--replicas needs --restart=Always: --restart={options.restart} makes one pod")
    return generator(options)


def deployment(options: RunOptions) -> Object:
    labels = _labels(options)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(options),
        "spec": {
            "replicas": 1 if options.replicas is None else options.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(options)},
        },
    }


def job(options: RunOptions) -> Object:
    spec = _pod_spec(options) | {"restartPolicy": "OnFailure"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(options),
        "spec": {"template": {"metadata": {"labels": _labels(options)}, "spec": spec}},
    }


def pod(options: RunOptions) -> Object:
    spec = _pod_spec(options) | {"restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(options), "spec": spec}


GENERATORS: Mapping[str, Callable[[RunOptions], Object]] = {"Always": deployment, "OnFailure": job, "Never": pod}


def _labels(options: RunOptions) -> dict[str, str]:
    return dict(options.labels) if options.labels else {"run": options.name}


def _metadata(options: RunOptions) -> Object:
    metadata: Object = {"name": options.name, "labels": _labels(options)}
    annotations = dict(options.annotations)
    if options.change_cause:
        annotations[CHANGE_CAUSE] = options.change_cause
    return metadata | ({"annotations": annotations} if annotations else {})


def _pod_spec(options: RunOptions) -> Object:
    container: Object = {"name": options.name, "image": options.image}
    if options.words:
        container["command" if options.as_command else "args"] = list(options.words)
    if options.port is not None:
        container["ports"] = [{"containerPort": options.port}]
    if options.env:
        container["env"] = [dict(pair) for pair in options.env]
    resources = {"requests": dict(options.requests), "limits": dict(options.limits)}
    if any(resources.values()):
        container["resources"] = {key: value for key, value in resources.items() if value}
    if options.pull_policy:
        container["imagePullPolicy"] = options.pull_policy
    spec: Object = {"containers": [container]}
    return spec | ({"serviceAccountName": options.service_account} if options.service_account else {})
