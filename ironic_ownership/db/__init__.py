"""The records' database: the only package that imports SQLAlchemy and alembic.

``connection`` opens a database, ``schema`` upgrades it; the ports are
``records``, ``moves``, ``removals`` and ``reservations``, and ``heartbeats``
serves the membership backend. Callers get values and errors of the contracts,
never objects of SQLAlchemy.
"""
