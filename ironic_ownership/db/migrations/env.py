"""What alembic runs: the migrations, on the connection it is given.

The transaction is the caller's: on SQLite and PostgreSQL all steps happen,
or none.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes['connection'])
context.run_migrations()
