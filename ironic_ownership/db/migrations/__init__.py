"""The history of the schema: one file a step in ``versions``, never edited.

A change of the tables is a new step, the new ``schema.HEAD``, and the same
change in ``tables``. Steps must not import ``tables``: it goes on changing.
"""
