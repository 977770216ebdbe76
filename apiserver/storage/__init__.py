"""The only speaker to etcd: how objects are kept, read and watched (steps A9, A10).

store          what the registry builds on
cache          the watch cache: `folders` (objects by key), `window` (latest events), `subscriptions`
feed           keeps the cache current from one etcd watch
probe          one question for etcd's revision, shared by all who wait for a consistent read
leases         times to live, shared;  compaction: every five minutes
etcd           the operations;  messages: the protobuf types;  http2: the client underneath
types          what is given and taken, and the errors
"""
