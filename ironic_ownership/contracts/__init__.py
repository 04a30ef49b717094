"""All that a plugin author imports; standard library only.

``model`` are the values, ``policy`` and ``backend`` the two kinds of plugin,
``options`` how a plugin declares its options, ``reasons``, ``exceptions``
and ``capabilities`` the shared vocabulary. ``records`` and ``inventory`` are
the two ports behind which the database and Ironic live.
"""
