"""The packages that ``ironic-ownership plugin new`` writes.

``every`` has the files of all plugins, ``filter``, ``assigner`` and
``backend`` those of one kind. A file ends in ``.tmpl``; ``$name`` in it and
``module`` in its path are replaced. A generated package passes its own tests:
``tests/functional/test_plugins_contrib.py`` checks that.
"""
