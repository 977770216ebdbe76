"""The nouns of the Kubernetes API, pure: objects, names, selectors, quantities, patches, errors. No I/O, no own clock.

Everything here may be used by every process. Nothing here may import any of them.
"""
