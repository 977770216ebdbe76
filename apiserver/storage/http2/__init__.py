"""A lean HTTP/2 and gRPC client for etcd, on asyncio protocols.

etcd is on the path of every request, so this room trades generality for the processor time of a call: one connection,
a constant header block a method, no header table, large receive windows.

    frames      the wire format of frames, pure
    headers     HPACK: the request's constant block; decoded response blocks
    outbox      what is sent, as far as the peer's windows reach
    connection  one connection: streams, settings, ping, GOAWAY, deadlines
    calls       gRPC on a stream: one answer, or many
    channel     several endpoints: connect, TLS, fail over, reconnect, retry what is safe to retry
    errors      what can go wrong, and whether the peer may have acted

Sources: RFC 9113 (HTTP/2), RFC 7541 (HPACK), https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
"""
