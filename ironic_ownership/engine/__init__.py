"""The use cases, on the contracts only: pure decisions, and a thin shell.

``roster`` and ``decide`` are pure: members, services, nodes and records in,
decisions out. ``plan`` compares decisions with records. ``refresh``,
``membership`` and ``host`` are the shell that reads, writes and waits.
"""
