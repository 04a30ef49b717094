"""Exposition of metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import prometheus_client
from prometheus_client import core, registry

from ironic_ownership import metrics

MEDIA_TYPE = prometheus_client.CONTENT_TYPE_LATEST


class _Families(registry.Collector):
    """Our metrics as a collector of prometheus_client."""

    def __init__(self, families: Iterable[metrics.Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[core.Metric]:
        """Return each metric in the form of prometheus_client."""
        for family in self._families:
            kind = (
                core.CounterMetricFamily
                if family.name.endswith('_total')
                else core.GaugeMetricFamily
            )
            name = f'{metrics.PREFIX}_{family.name}'
            metric = kind(name, family.help, labels=family.labels)
            for values, number in family.samples:
                metric.add_metric(values, number)
            yield metric


def text_of(families: Iterable[metrics.Family]) -> bytes:
    """Return metrics in Prometheus' text format."""
    return prometheus_client.generate_latest(_Families(families))
