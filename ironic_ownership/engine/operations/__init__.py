"""Use cases of operators: propose without writing, then execute."""
