"""Storage's failures as the API's: the one place where each gets its code and wording (step A9)."""

from __future__ import annotations

from apimachinery import errors
from apiserver.scheme.resources import Resource
from apiserver.storage import types


def translate(error: types.StorageError, resource: Resource, name: str = "") -> errors.APIError:
    """What a client sees of `error`."""
    match error:
        case types.KeyExists():
            return errors.already_exists(resource.group, resource.resource, name)
        case types.KeyMissing():
            return errors.not_found(resource.group, resource.resource, name)
        case types.RevisionMismatch():
            return errors.conflict(resource.group, resource.resource, name)
        case types.Compacted(requested=requested, oldest=oldest):
            return errors.too_old(requested, oldest)
        case types.FutureRevision():
            return _too_large(str(error))
        case types.TooLarge():  # upstream lets etcd's words through as a 500; the fault is the client's
            return errors.RequestEntityTooLarge("etcdserver: request is too large")
        case types.Unavailable(maybe_written=True):
            return errors.ServerTimeout(
                f"The {resource.resource} operation could not be completed in time, and may have been done: {error}",
                retry_after_seconds=1,
            )
        case types.Unavailable():
            return errors.ServiceUnavailable(
                f"storage is (re)initializing or unreachable: {error}", retry_after_seconds=1
            )
    return errors.InternalError(f"Internal error occurred: {error}")


def _too_large(text: str) -> errors.APIError:
    cause = errors.Cause("ResourceVersionTooLarge", "Too large resource version", "")
    return errors.Timeout(f"Timeout: Too large resource version: {text}", causes=[cause], retry_after_seconds=1)
