"""Convergence of the nemesis: when all is well again."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any, cast

from benchmarks.nemesis import clock, convergence
from benchmarks.nemesis.answers import ProcessState, Reader
from benchmarks.nemesis.cluster import HOSTS
from benchmarks.nemesis.hosts import LIVING
from benchmarks.nemesis.observer import Service, Snapshot

TTL = 8.0


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
            self.set_state(f'{host}_1', f'first-{host}')
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
            cast(
                Any,
                SimpleNamespace(
                    processes=self.processes, settings=SimpleNamespace(ttl=TTL)
                ),
            ),
            cast(Any, None),
            self.reader,
        )

    def set_state(
        self, login: str, incarnation: str, right: float = 0.8 * TTL
    ) -> None:
        self.reader.states[login] = ProcessState(
            clock.now(), incarnation, right, LIVING
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
        self.set_state(f'{HOSTS[0]}_2', 'second')
        (problem,) = self.problems()
        self.assertIn(f'service {HOSTS[0]} has ended', problem)

    def test_service_is_not_well_before_its_next_heartbeat(self) -> None:
        # Its membership has expired, but nothing on record says so.
        self.set_state(f'{HOSTS[0]}_1', f'first-{HOSTS[0]}', right=0.0)
        (problem,) = self.problems()
        self.assertIn(f'service {HOSTS[0]} has no lasting right', problem)
