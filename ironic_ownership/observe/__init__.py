"""What operators see, wherever they look: the same columns and keys.

Nothing here reads or decides anything: it turns values into plain cells.
"""
