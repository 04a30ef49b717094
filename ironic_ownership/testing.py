"""Former place of the suites and fakes for authors of plugins."""

from ironic_ownership.contracts import extras

raise ImportError(
    f'the suites are in the distribution {extras.KIT}: import '
    'ironic_ownership_plugin_kit in place of ironic_ownership.testing. '
    + extras.directory_hint('./plugin_kit')
)
