"""L10, L12: the pods' network: the CNI conflist, routes to the other nodes' pods, masquerade towards the world."""
