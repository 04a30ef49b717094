"""The packages that ``ironic-ownership plugin new`` writes.

``every`` is what every plugin gets, ``filter``, ``assigner`` and ``backend``
what only one kind gets. A file ends in ``.tmpl``; ``$name`` in it and
``module`` in its path are filled in. What is written has to pass its own
tests at once: ``tests/functional/test_plugin_new.py`` sees to it.
"""
