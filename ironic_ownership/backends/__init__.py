"""The membership backends that come with the package, one module each.

Each is loaded through its entry point, as a third party's would be, and
knows the contracts only; ``db`` also knows the room of the same name.
"""
