"""A CRI v1 runtime whose containers are simulated: for laptops without root or Linux, and for clusters of many nodes.

To the kubelet it is a runtime like containerd: sandboxes get addresses from the node's pod CIDR, containers are
created, run, exit and are removed, images are pulled. No process is ever started, and no address can be reached: log
lines and errors say so.
"""
