"""Metrics: what is counted, how often it is found out, how it is written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

from prometheus_client import parser

from ironic_ownership.api import background
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db.records import SqlRecords
from ironic_ownership_plugin_kit import fakes
from tests.unit.db import sqlite
from tests.unit.web import app_case

NAME = 'ironic_ownership_'


class MetricsTest(app_case.SiteCase):
    def samples(self) -> dict[tuple[str, ...], float]:
        """Return what Prometheus reads, by name and values of labels."""
        answer = self.client.get('/metrics')
        self.assertEqual(200, answer.status_code)
        self.assertTrue(answer.content_type.startswith('text/plain'))
        return {
            (sample.name.removeprefix(NAME), *sample.labels.values()): (
                sample.value
            )
            for family in parser.text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    def test_what_is_counted_and_found_is_that_of_the_check(self) -> None:
        found = self.samples()
        for key, value in (
            (('nodes', 'old', 'owned'), 6),
            (('service_alive', 'new'), 1),
            (('service_alive', 'old'), 0),
            (('service_disabled', 'old'), 1),
            (('members', 'new'), 1),
        ):
            self.assertEqual(value, found[key], key)
        self.assertEqual(
            {
                (problem['code'], problem['severity'])
                for problem in self.get('/v1/check')['problems']
            },
            {key[1:] for key in found if key[0] == 'problems'},
        )

    def test_service_that_stock_nova_serves_is_alive(self) -> None:
        stock = model.Service('old', up_in_nova=True)
        with mock.patch.object(SqlRecords, 'services', return_value=[stock]):
            self.assertEqual(1, self.samples()['service_alive', 'old'])

    def test_part_that_does_not_answer_is_reported_and_left_out(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        found = self.samples()
        self.assertEqual(0, found['answers', 'ironic'])
        self.assertEqual(1, found['answers', 'records'])
        self.assertNotIn('nodes', {key[0] for key in found})
        self.assertIn(('service_alive', 'old'), found)

    def test_nodes_are_not_listed_for_each_scrape(self) -> None:
        self.client = self.build('metrics_interval = 1000')
        for _ in range(5):
            self.samples()
        self.assertEqual(1, [c[0] for c in self.ironic.calls].count('scan'))

    def test_clock_that_is_set_back_makes_no_age_negative(self) -> None:
        self.wired.records.report_conditions(
            'new', 'one', [], interval=60.0, at=0.0
        )
        sqlite.run_sql(
            self.wired.database,
            'UPDATE condition_reports SET reported_at = reported_at + 3600',
        )
        self.assertEqual(0.0, self.samples()['conditions_age_seconds', 'new'])


class GaugesTest(app_case.SiteCase):
    def setUp(self) -> None:
        super().setUp()
        self.clock, self.reads = fakes.FakeClock(), 0
        self.reading, self.go_on = threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)

    def gauges(
        self, first: Callable[[], Any], interval: float = 60, **more: Any
    ) -> background.Gauges:
        """Return gauges whose reads begin so, after they were counted."""

        def overview() -> Any:
            self.reads += 1
            first()
            return self.wired.overview()

        return background.Gauges(overview, interval, **more)

    def hang(self) -> None:
        self.reading.set()
        self.go_on.wait(180)

    def test_metrics_are_read_again_after_the_interval(self) -> None:
        found = self.gauges(lambda: None, clock=self.clock)
        for seconds, times in ((0, 1), (59, 1), (1, 2), (59, 2), (61, 3)):
            self.clock.elapse(seconds)
            found.families()
            self.assertEqual(times, self.reads, seconds)

    def test_one_thread_waits_for_the_first_read_and_none_for_ever(
        self,
    ) -> None:
        # The others are free for other requests while Ironic hangs.
        found = self.gauges(self.hang, patience=180)
        first = threading.Thread(target=found.families)
        first.start()
        self.assertTrue(self.reading.wait(180))
        for _ in range(3):
            self.assertRaises(background.BusyError, found.families)
        self.go_on.set()
        first.join(180)
        self.assertTrue(found.families())
        self.assertEqual(1, self.reads)

    def test_first_read_is_waited_for_as_long_as_the_patience(self) -> None:
        found = self.gauges(self.hang, patience=0.01)
        self.assertRaises(background.BusyError, found.families)
        self.go_on.set()
        self.assertLess(self.age(found), 180)

    def test_failed_look_is_tried_again(self) -> None:
        def fail() -> None:
            if self.reads == 1:
                raise ValueError('x')

        found = self.gauges(fail)
        with self.assertLogs('ironic_ownership', 'ERROR'):
            self.assertRaises(ValueError, found.families)
        self.assertTrue(found.families())

    def test_slow_look_is_not_waited_for_where_there_is_an_older_one(
        self,
    ) -> None:
        found = self.gauges(
            lambda: self.hang() if self.reads > 1 else None,
            patience=0.01,
            clock=self.clock,
        )
        self.assertEqual(0, self.age(found))
        self.clock.elapse(60)
        self.assertEqual(60, self.age(found))
        self.assertTrue(self.reading.wait(180))
        self.clock.elapse(10)
        self.assertEqual(70, self.age(found))
        self.assertEqual(2, self.reads)
        self.go_on.set()
        gives_up = time.monotonic() + 180
        while self.age(found):
            self.assertLess(time.monotonic(), gives_up)
        self.assertEqual(2, self.reads)

    def age(self, found: background.Gauges) -> float:
        """Return the age of the metrics, as soon as there are any."""
        gives_up = time.monotonic() + 180
        while True:
            try:
                families = {family.name: family for family in found.families()}
                break
            except background.BusyError:
                self.assertLess(time.monotonic(), gives_up)
        ((_, age),) = families['metrics_age_seconds'].samples
        return age
