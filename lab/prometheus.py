"""A private Prometheus with the alert rules that operators get.

Times of the rules are scaled down, so that an alert needs seconds to fire and
to go out.
"""

from __future__ import annotations

import json
import pathlib
import re
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from lab import process, server

RULES = (
    pathlib.Path(__file__).parents[1] / 'etc/ironic_ownership/prometheus'
) / 'rules.yml'
"""What operators load."""

_INTERVAL = 3
"""Seconds between two scrapes, and between two evaluations."""


class Prometheus(server.Server):
    """One server that scrapes programs on loopback.

    :param jobs: the ports to scrape, by job.
    :param replaced: texts of the rules, and what stands for them.
    """

    title = 'Prometheus'

    def __init__(
        self,
        directory: pathlib.Path,
        jobs: Mapping[str, Sequence[int]],
        replaced: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(directory)
        self._jobs = jobs
        self._replaced = replaced or {}

    def firing(self) -> set[str]:
        """Return the names of the alerts that fire."""
        return {
            alert['labels']['alertname']
            for alert in self._get('/api/v1/alerts')['alerts']
            if alert['state'] == 'firing'
        }

    def query(self, expression: str) -> list[Any]:
        """Return the samples of an expression."""
        words = urllib.parse.urlencode({'query': expression})
        return list(self._get(f'/api/v1/query?{words}')['result'])

    def up(self) -> dict[str, str]:
        """Return the health of each target, by its address."""
        targets = self._get('/api/v1/targets')['activeTargets']
        return {one['labels']['instance']: one['health'] for one in targets}

    def _get(self, path: str) -> Any:
        url = f'http://127.0.0.1:{self.port}{path}'
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)['data']

    def _prepare(self) -> process.Process:
        rules = self._directory / 'rules.yml'
        rules.write_text(self._scaled(RULES.read_text()))
        config = self._directory / 'prometheus.yml'
        # JSON is YAML.
        config.write_text(json.dumps(self._configuration(rules)))
        return process.Process(
            [
                server.program('prometheus', 'prometheus'),
                f'--config.file={config}',
                f'--storage.tsdb.path={self._directory / "data"}',
                f'--web.listen-address=127.0.0.1:{self.port}',
            ],
            self._directory / 'prometheus.log',
        )

    def _scaled(self, text: str) -> str:
        text = re.sub(r'for: \w+', 'for: 0s', text)
        for old, new in self._replaced.items():
            if old not in text:
                raise process.LabError(f'{RULES} has no {old}')
            text = text.replace(old, new)
        return text

    def _configuration(self, rules: pathlib.Path) -> dict[str, Any]:
        return {
            'global': {
                'scrape_interval': f'{_INTERVAL}s',
                'scrape_timeout': f'{_INTERVAL}s',
                'evaluation_interval': f'{_INTERVAL}s',
            },
            'rule_files': [str(rules)],
            'scrape_configs': [
                {
                    'job_name': job,
                    'static_configs': [
                        {'targets': [f'127.0.0.1:{port}' for port in ports]}
                    ],
                }
                for job, ports in self._jobs.items()
            ],
        }

    def _answers(self) -> bool:
        try:
            self.firing()
        except OSError:
            return False
        return True
