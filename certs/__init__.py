"""The cluster's trust: authorities, one identity a component, key pairs and kubeconfigs on disk."""
