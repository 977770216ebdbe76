"""Kubernetes' protobuf form of objects, both ways.

kubectl's typed commands and upstream's components send their bodies in it, and many clients ask for answers in it.
`layout` knows the numbers, `reading` and `writing` go between them and the JSON objects that everything else works on.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
"""

from __future__ import annotations

from apimachinery.protobuf.layout import message_of
from apimachinery.protobuf.reading import decode
from apimachinery.protobuf.writing import encode, encode_list, event

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

__all__ = ["MEDIA_TYPE", "decode", "encode", "encode_list", "event", "message_of"]
