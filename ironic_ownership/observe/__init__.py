"""Columns and metrics; presentation only.

Turns values of the engine into plain cells.
"""
