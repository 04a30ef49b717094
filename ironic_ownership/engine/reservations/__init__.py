"""Reserve free nodes for instances: select, allocate, release, recover."""
