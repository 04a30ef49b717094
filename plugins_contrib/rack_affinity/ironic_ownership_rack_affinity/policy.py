"""A filter for nodes in certain places.

Ironic has no field for buildings and racks: operators write them into a
node's ``properties`` or ``extra``, under keys of their choice.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership import contracts

SOURCES = 'properties', 'extra'


class RackAffinityPolicy(contracts.FilterPolicy):
    """Nodes whose ``properties`` or ``extra`` hold the wanted values.

    For each named key, a node needs one of its named values.
    Ironic cannot filter by either field, so the scope is everything.
    """

    contract_version = 1
    node_fields = ('extra',)
    options = (
        contracts.Option(
            'places',
            contracts.OptionType.LIST,
            'Places of the nodes of this service, as key=value pairs, for '
            'example "building=north, rack=r1, rack=r2". A node is eligible '
            'when it has, for each named key, one of its named values, '
            'case-sensitive. Related: source, the field of the node.',
            required=True,
        ),
        contracts.Option(
            'source',
            contracts.OptionType.STRING,
            'Field of a node that holds the keys of places: properties or '
            'extra.',
            default='properties',
            regex='|'.join(SOURCES),
        ),
    )

    def __init__(self, settings: Mapping[str, contracts.Value]) -> None:
        super().__init__(settings)
        places = settings['places']
        pairs = places if isinstance(places, tuple) else ()
        if not pairs:
            raise contracts.PolicySettingsError(
                '[policy_rack_affinity] places names no place',
                hint='Name one, as in "places = rack=r1"',
            )
        self._source = str(settings['source'])
        if self._source not in SOURCES:
            raise contracts.PolicySettingsError(
                f'[policy_rack_affinity] source = {self._source}: neither '
                f'{" nor ".join(SOURCES)}'
            )
        wanted: dict[str, set[str]] = {}
        for key, value in map(_pair, pairs):
            wanted.setdefault(key, set()).add(value)
        self._wanted = tuple(
            (key, frozenset(values)) for key, values in sorted(wanted.items())
        )

    def settings(self) -> Mapping[str, contracts.Value]:
        """Return the places sorted, each once."""
        return {
            'places': tuple(
                f'{key}={value}'
                for key, values in self._wanted
                for value in sorted(values)
            ),
            'source': self._source,
        }

    def admits(self, node: contracts.Node) -> bool:
        """Tell whether the node is in one of the places."""
        found = node.extra if self._source == 'extra' else node.properties
        return all(
            _text(found.get(key)) in values for key, values in self._wanted
        )


def _pair(text: str) -> tuple[str, str]:
    key, separator, value = (part.strip() for part in text.partition('='))
    if not (key and separator and value):
        raise contracts.PolicySettingsError(
            f'[policy_rack_affinity] places: {text!r} is no key=value',
            hint='Write it as in "places = building=north, rack=r1"',
        )
    return key, value


def _text(value: object) -> str | None:
    """Return a value of JSON as an operator writes it, if possible."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else None
