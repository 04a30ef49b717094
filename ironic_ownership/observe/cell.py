"""Columns of the findings in a Nova cell and of an adoption; its settings."""

from __future__ import annotations

from ironic_ownership.contracts.cell import AdoptedNode, NovaConfiguration
from ironic_ownership.engine.operations.check_cell import Finding
from ironic_ownership.engine.operations.return_services import ReturnedService
from ironic_ownership.observe.columns import Column

FINDINGS: tuple[Column[Finding], ...] = (
    Column('code', lambda found: found.code),
    Column('what', lambda found: found.what),
    Column('subjects', lambda found: list(found.subjects)),
    Column('prevents_adoption', lambda found: found.prevents_adoption),
    Column('hint', lambda found: found.hint),
)

ADOPTED: tuple[Column[AdoptedNode], ...] = (
    Column('uuid', lambda node: node.uuid),
    Column('service', lambda node: node.host),
    Column('state', lambda node: node.state.value),
    Column('detail', lambda node: node.detail),
)

RETURNED: tuple[Column[ReturnedService], ...] = (
    Column('service', lambda service: service.host),
    Column('state', lambda service: service.state.value),
    Column('detail', lambda service: service.detail),
)


def summary(configuration: NovaConfiguration) -> str:
    """Return one line: a nova.conf, and the settings that follow from it."""
    settings = ', '.join(
        f'[{group}] {name} = {value}'
        for (group, name), value in configuration.settings.items()
    )
    return (
        f'{configuration.path}: compute_driver = {configuration.driver}; '
        f'the same here: {settings}'
    )
