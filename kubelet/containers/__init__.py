"""L9, L13: from a pod's spec to CRI's configs: environment, resources, security, DNS, sandbox, container. Pure."""
