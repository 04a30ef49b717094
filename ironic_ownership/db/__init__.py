"""The records' database: the only package that imports SQLAlchemy and alembic.

``connection`` opens a database, and ``dialects`` and ``servers`` have what its
kind needs; ``schema`` upgrades it. The ports are ``records``, ``moves`` and
``reservations``; ``heartbeats`` is the membership backend ``db``. Callers get
values and errors of the contracts, never objects of SQLAlchemy.
"""
