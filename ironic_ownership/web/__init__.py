"""The HTTP service: resources in JSON over the use cases of the engine.

An edge like the command line: it asks, and shows the same rows under the
same keys. Nothing is decided here. Only this package, and the program that
serves it, know an HTTP framework.
"""
