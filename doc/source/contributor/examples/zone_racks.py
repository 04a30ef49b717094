"""A filter by a table that another system writes."""

import pathlib
from collections.abc import Mapping

from ironic_ownership.contracts import (
    FilterPolicy,
    Node,
    Option,
    OptionType,
    Source,
    Value,
)


def read_racks(options: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the racks of the zone, from lines such as ``rack7 zone2``."""
    lines = pathlib.Path(str(options['table'])).read_text().splitlines()
    rows = (line.split() for line in lines if line.strip())
    return tuple(
        sorted({rack for rack, zone in rows if zone == options['zone']})
    )


class ZoneRacksPolicy(FilterPolicy):
    """Nodes in the racks of ``[policy_zone_racks] zone``."""

    contract_version = 2
    options = (
        Option('zone', OptionType.STRING, 'Zone of this service.', 'zone1'),
        Option(
            'table',
            OptionType.STRING,
            'File with a rack and its zone in each line.',
            '/etc/racks',
        ),
    )
    sources = (
        Source(
            'racks',
            read_racks,
            'The racks of the zone, from the table.',
            interval=30,
        ),
    )

    def admits(self, node: Node) -> bool:
        """Tell whether the node is in one of the racks."""
        racks = self._settings['racks']
        return (
            isinstance(racks, tuple) and node.properties.get('rack') in racks
        )
