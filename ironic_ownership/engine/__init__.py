"""The use cases, on the contracts only: pure decisions, and a thin shell.

Each room is about one thing, and sees only those below it:

- ``checking``: what is wrong
- ``inspecting``: what there is, and why
- ``moving`` and ``reservations``: what operators and schedulers have done
- ``placement``: what Placement is told
- ``hosting``: what a running service does
- ``removing``, ``scheduling``, ``members``: records that go, nodes out of
  service, and who is alive
- ``deciding``: who owns which node

The modules beside them are for all of them.
"""
