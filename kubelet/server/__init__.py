"""L15: the node's HTTPS port: logs, exec, attach, port-forward, pods, metrics, for the API server and for operators."""
