"""The membership backends of this package, one module each.

Each is loaded through its entry point, as third-party backends are, and
imports contracts only; ``db`` also imports the package of the same name.
"""
