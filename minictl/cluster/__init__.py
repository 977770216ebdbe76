"""A local cluster: its tools, images, nodes and processes, started and removed without a trace."""
