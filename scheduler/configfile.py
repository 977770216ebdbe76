"""Reads the file of `--config`; what is in it is `config`'s business."""

from __future__ import annotations

from pathlib import Path

from apimachinery import codec
from scheduler import config


def load(path: Path) -> config.Settings:
    """Raises config.ConfigError, also for a file that cannot be read."""
    try:
        document = codec.decode_yaml(path.read_bytes())
    except (OSError, codec.CodecError) as error:
        raise config.ConfigError(str(error)) from error
    return config.parse(document)
