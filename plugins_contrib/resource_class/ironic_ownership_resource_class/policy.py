"""A filter for nodes of certain resource classes."""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership import contracts


class ResourceClassPolicy(contracts.FilterPolicy):
    """Nodes whose ``resource_class`` is one of those named.

    A node without a class is unowned. Ironic filters by one class at a time
    and a scope has none, so the scope is everything.
    """

    contract_version = 1
    options = (
        contracts.Option(
            'resource_classes',
            contracts.OptionType.LIST,
            'Resource classes whose nodes this service owns, exactly as in '
            'Ironic ("baremetal.gold", not Placement\'s '
            '"CUSTOM_BAREMETAL_GOLD").',
            required=True,
        ),
    )

    def __init__(self, settings: Mapping[str, contracts.Value]) -> None:
        super().__init__(settings)
        named = settings['resource_classes']
        names = named if isinstance(named, tuple) else ()
        self._classes = frozenset(n.strip() for n in names if n.strip())
        if not self._classes:
            raise contracts.PolicySettingsError(
                '[policy_resource_class] resource_classes names no class',
                hint='Name one, or remove the policy "resource_class"',
            )

    def settings(self) -> Mapping[str, contracts.Value]:
        """Return the classes sorted, each once."""
        return {'resource_classes': tuple(sorted(self._classes))}

    def remarks(self) -> list[str]:
        """Name the classes that look like Placement's."""
        return [
            f'[policy_resource_class] resource_classes names {name}: that '
            'looks like a class of Placement, not of Ironic'
            for name in sorted(self._classes)
            if name.startswith('CUSTOM_')
        ]

    def admits(self, node: contracts.Node) -> bool:
        """Tell whether the node is of one of the classes."""
        return node.resource_class in self._classes
