"""Entry point of alembic: runs the migrations on the caller's connection.

The transaction is the caller's as well: on SQLite and PostgreSQL all steps
take effect, or none.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes['connection'])
context.run_migrations()
