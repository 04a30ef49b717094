"""A filter that decides by what operators wrote into a node's ``extra``."""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership import contracts


class BuildingPolicy(contracts.FilterPolicy):
    """Admits the nodes of one building, in one conductor group if named."""

    contract_version = 1
    # Not asked for otherwise: in most deployments nothing is decided by it.
    node_fields = ('extra',)
    options = (
        contracts.Option(
            'building',
            contracts.OptionType.STRING,
            'Nodes with this building in their extra are eligible. Case '
            'does not count.',
            required=True,
        ),
        contracts.Option(
            'group',
            contracts.OptionType.STRING,
            'Conductor group of the building, if all of its nodes are in '
            'one: Ironic then lists only those.',
        ),
    )

    def __init__(self, settings: Mapping[str, contracts.Value]) -> None:
        super().__init__(settings)
        self._building = str(settings.get('building') or '').strip().lower()
        group = settings.get('group')
        self._group = None if group is None else str(group).lower()
        if not self._building:
            raise contracts.PolicySettingsError('no building is named')

    def settings(self) -> Mapping[str, contracts.Value]:
        """Return the options without what has no meaning: case, spaces."""
        return {'building': self._building, 'group': self._group}

    def scope(self) -> contracts.Scope:
        """Return what Ironic can filter by; it knows nothing of ``extra``."""
        return contracts.Scope(conductor_group=self._group)

    def admits(self, node: contracts.Node) -> bool:
        """Tell whether the node is in the building, and in the scope."""
        building = node.extra.get('building')
        return (
            isinstance(building, str)
            and building.strip().lower() == self._building
            and super().admits(node)
        )
