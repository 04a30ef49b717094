"""Columns, keys and metrics that the CLI, the HTTP API and JSON share.

Presentation only: turns values of the engine into plain cells.
"""
