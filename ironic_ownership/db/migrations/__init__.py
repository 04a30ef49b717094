"""History of the schema: one file per step in ``versions``, never edited.

A change of the tables is a new step, the new ``tables.HEAD``, and the same
change in ``tables``. Steps must not import ``tables``, which keeps changing.
"""
