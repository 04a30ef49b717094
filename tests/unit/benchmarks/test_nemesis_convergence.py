"""Convergence of the nemesis: when all is well again."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.nemesis import clock, convergence
from benchmarks.nemesis.answers import Reader, Threads
from benchmarks.nemesis.cluster import HOSTS
from benchmarks.nemesis.hosts import LIVING
from benchmarks.nemesis.observer import Service, Snapshot


class ServicesTest(unittest.TestCase):
    """One process for each service, and no node."""

    def setUp(self) -> None:
        super().setUp()
        self.processes = {
            host: SimpleNamespace(name=host, login=f'{host}_1')
            for host in HOSTS
        }
        self.reader = Reader()
        for host in HOSTS:
            self.reader.threads[f'{host}_1'] = Threads(
                clock.now(), f'first-{host}', LIVING
            )
        self.snapshot = Snapshot(
            0.0,
            {
                host: Service(host, 1, False, False, False, f'first-{host}')
                for host in HOSTS
            },
            {},
            {},
        )
        self.checked = convergence.Convergence(
            cast(Any, SimpleNamespace(processes=self.processes)),
            cast(Any, None),
            self.reader,
        )

    def problems(self) -> list[str]:
        return self.checked._services(self.snapshot)

    def test_service_whose_process_lives_is_well(self) -> None:
        self.assertEqual([], self.problems())

    def test_service_is_not_well_before_the_successor_has_registered(
        self,
    ) -> None:
        # A killed process is on record until its membership has expired.
        self.processes[HOSTS[0]].login = f'{HOSTS[0]}_2'
        self.reader.threads[f'{HOSTS[0]}_2'] = Threads(
            clock.now(), 'second', LIVING
        )
        (problem,) = self.problems()
        self.assertIn(f'service {HOSTS[0]} has ended', problem)
