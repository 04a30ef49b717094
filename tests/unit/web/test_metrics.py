"""Metrics: what is counted, how often it is found out, how it is written."""

from __future__ import annotations

import threading
import time

from prometheus_client import parser

from ironic_ownership.api import background
from ironic_ownership.contracts import exceptions
from ironic_ownership.observe import metrics
from ironic_ownership.web import exposition as resource
from ironic_ownership_plugin_kit import fakes
from tests.unit.db import sqlite
from tests.unit.web import app_case


class MetricsTest(app_case.SiteCase):
    def samples(self) -> dict[tuple, float]:
        """Return what Prometheus reads, by name and values of labels."""
        answer = self.client.get('/metrics')
        self.assertEqual(200, answer.status_code)
        self.assertTrue(answer.content_type.startswith('text/plain'))
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in parser.text_string_to_metric_families(answer.text)
            for sample in family.samples
        }

    def test_nodes_services_and_members_are_counted(self) -> None:
        found = self.samples()
        self.assertEqual(6, found['ironic_ownership_nodes', 'old', 'owned'])
        self.assertEqual(
            (1, 0),
            tuple(
                found['ironic_ownership_service_alive', host]
                for host in ('new', 'old')
            ),
        )
        self.assertEqual(1, found['ironic_ownership_service_disabled', 'old'])
        self.assertEqual(1, found['ironic_ownership_members', 'new'])

    def test_problems_are_those_of_the_check(self) -> None:
        expected = {
            (problem['code'], problem['severity'])
            for problem in self.get('/v1/check')['problems']
        }
        found = {
            key[1:]
            for key in self.samples()
            if key[0] == 'ironic_ownership_problems'
        }
        self.assertEqual(expected, found)

    def test_part_that_does_not_answer_is_reported_and_left_out(self) -> None:
        self.ironic.fail_with = exceptions.IronicUnavailableError('down')
        found = self.samples()
        self.assertEqual(0, found['ironic_ownership_answers', 'ironic'])
        self.assertEqual(1, found['ironic_ownership_answers', 'records'])
        self.assertNotIn('ironic_ownership_nodes', {key[0] for key in found})
        self.assertIn(('ironic_ownership_service_alive', 'old'), found)

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
        age = 'ironic_ownership_conditions_age_seconds', 'new'
        self.assertEqual(0.0, self.samples()[age])

    def test_text_is_escaped(self) -> None:
        name = 'a"b\\c\nd'
        text = resource.text_of([metrics.Family('x', 'y')]).decode()
        self.assertIn('# HELP', text)
        family = metrics.Family('x', 'y', ('service',), [((name,), 1.0)])
        (read,) = parser.text_string_to_metric_families(
            resource.text_of([family]).decode()
        )
        self.assertEqual({'service': name}, read.samples[0].labels)


class GaugesTest(app_case.SiteCase):
    def test_metrics_are_read_again_after_the_interval(self) -> None:
        clock, read = fakes.FakeClock(), []

        def overview():
            read.append(clock.now)
            return self.wired.overview()

        found = background.Gauges(overview, 60, clock=clock)
        for seconds, times in ((0, 1), (59, 1), (1, 2), (59, 2), (61, 3)):
            clock.elapse(seconds)
            found.families()
            self.assertEqual(times, len(read), seconds)

    def test_one_thread_waits_for_the_first_read_and_none_for_ever(
        self,
    ) -> None:
        # The others are free for other requests while Ironic hangs.
        reading, go_on, read = threading.Event(), threading.Event(), []

        def overview():
            read.append(1)
            reading.set()
            go_on.wait(60)
            return self.wired.overview()

        self.addCleanup(go_on.set)
        found = background.Gauges(overview, 1000, patience=180)
        first = threading.Thread(target=found.families)
        first.start()
        self.assertTrue(reading.wait(180))
        for _ in range(3):
            self.assertRaises(background.BusyError, found.families)
        go_on.set()
        first.join(180)
        self.assertTrue(found.families())
        self.assertEqual([1], read)

    def test_first_read_is_waited_for_as_long_as_the_patience(self) -> None:
        go_on = threading.Event()
        self.addCleanup(go_on.set)

        def overview():
            go_on.wait(180)
            return self.wired.overview()

        found = background.Gauges(overview, 1000, patience=0.01)
        self.assertRaises(background.BusyError, found.families)
        go_on.set()
        self.assertLess(self.age(found), 180)

    def test_failed_look_is_tried_again(self) -> None:
        answers = iter([ValueError('x'), None])

        def overview():
            answer = next(answers)
            if answer is not None:
                raise answer
            return self.wired.overview()

        found = background.Gauges(overview, 1000)
        with self.assertLogs('ironic_ownership', 'ERROR'):
            self.assertRaises(ValueError, found.families)
        self.assertTrue(found.families())

    def test_slow_look_is_not_waited_for_where_there_is_an_older_one(
        self,
    ) -> None:
        clock, go_on, read = fakes.FakeClock(), threading.Event(), []
        again = threading.Event()
        self.addCleanup(go_on.set)

        def overview():
            read.append(1)
            if len(read) > 1:
                again.set()
                go_on.wait(180)
            return self.wired.overview()

        found = background.Gauges(overview, 60, patience=0.01, clock=clock)
        self.assertEqual(0, self.age(found))
        clock.elapse(60)
        self.assertEqual(60, self.age(found))
        self.assertTrue(again.wait(180))
        clock.elapse(10)
        self.assertEqual(70, self.age(found))
        self.assertEqual([1, 1], read)
        go_on.set()
        gives_up = time.monotonic() + 180
        while self.age(found):
            self.assertLess(time.monotonic(), gives_up)
        self.assertEqual([1, 1], read)

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
