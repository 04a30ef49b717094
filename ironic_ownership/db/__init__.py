"""The records' database: the only room that imports SQLAlchemy and alembic.

``connection`` opens a database, ``schema`` brings it to this release's
shape, ``records`` and ``heartbeats`` are what the rest of the house uses.
Nothing of SQL leaves this room: values and errors of the contracts do.
"""
