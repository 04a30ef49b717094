"""The use cases, on contracts only: pure decisions, and a thin shell.

Each package has one subject, and imports only packages below it:

- ``checks``: problems of a deployment
- ``queries``: state, and explanations
- ``changes`` and ``reservations``: changes by operators and schedulers
- ``placement``: reports to Placement
- ``host``: a running service
- ``deletion``: records of lost nodes
- ``membership``: live members, fence and heartbeat
- ``decision``: owners of nodes

The modules next to them are shared. ``availability`` knows which nodes are out
of service.
"""
