"""The use cases, on contracts only: pure decisions, and a thin shell.

Each package has one subject, and imports only packages below it:

- ``operations``: what an operator does; called by every edge
- ``checks``: problems of a deployment
- ``queries``: state, and explanations
- ``moves`` and ``reservations``: changes by operators and schedulers
- ``placement``: reports to Placement
- ``host``: a running service
- ``deletion``, ``availability``: records of lost nodes, nodes out of service
- ``membership``: live members, fence and heartbeat
- ``decision``: owners of nodes

The modules next to them are shared.
"""
