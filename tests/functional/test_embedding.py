"""A host that is embedded in this process, with a real Ironic."""

from __future__ import annotations

import pathlib
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

from ironic_ownership import embedding
from ironic_ownership.contracts import exceptions
from tests.functional.support import hosts

_CHECKOUT = pathlib.Path(__file__).parents[2]
sys.path.append(str(_CHECKOUT / 'doc' / 'source' / 'contributor' / 'programs'))

import embedder  # noqa: E402 - from that directory

PATIENCE = hosts.TIMEOUT


def _threads() -> set[str]:
    # In front of Ironic is a server of this process, with a thread for each
    # connection of a client.
    names = {thread.name for thread in threading.enumerate()}
    return {name for name in names if 'process_request' not in name}


class EmbeddingTest(hosts.HostsTestCase):
    """Embedded hosts, of whose callbacks a test keeps the arguments."""

    def setUp(self) -> None:
        super().setUp()
        self.lost: list[embedding.LostPlace] = []
        self.at_loss: Callable[[], object] = lambda: None

    def embed(self) -> embedding.EmbeddedHost:
        """Start an embedded host1."""
        host = embedding.EmbeddedHost(
            overrides=self.values(), on_lost_place=self.lose
        )
        host.start()
        self.addCleanup(host.stop)
        return host

    def lose(self, lost: embedding.LostPlace) -> None:
        self.lost.append(lost)
        self.at_loss()

    def wait_for(self, host: embedding.EmbeddedHost, nodes: list[str]) -> None:
        """Wait until a host owns these nodes."""
        self.assertTrue(host.wait_until_active(PATIENCE))
        self.assertTrue(host.feed.wait_until_complete(PATIENCE))
        self.assertEqual({*nodes}, {*host.feed.owned()})

    def values(self) -> dict[tuple[str, str], Any]:
        """Return the configuration of host1."""
        values: dict[tuple[str, str], Any] = {
            (group, name): value
            for group, options in hosts.FAST.items()
            for name, value in options.items()
        }
        return values | {
            # A permission lasts for an interval: longer than a busy machine
            # takes for an answer of the records.
            ('membership', 'heartbeat_interval'): 4,
            ('membership', 'member_ttl'): 60,
            ('DEFAULT', 'host'): 'host1',
            ('ownership', 'policies'): ['all'],
            ('database', 'connection'): self.deployment.connection,
            ('ironic', 'auth_type'): 'none',
            ('ironic', 'endpoint_override'): self.endpoint,
        }

    def test_active_and_standby_of_one_host(self) -> None:
        nodes = self.enrolment.enrol(3, instance_share=0.34)
        first = self.embed()
        self.wait_for(first, nodes)
        permission = first.guard(nodes[0], instance_uuid=None)
        self.assertEqual(first.feed.owned()[nodes[0]].epoch, permission.epoch)
        self.assertIsNotNone(permission.node.instance_uuid)
        second = self.embed()
        self.deployment.wait_until(
            lambda: second.state is embedding.PlaceState.STANDBY, 'standby'
        )
        self.assertFalse(second.wait_until_active(0.5))
        self.assertEqual({}, dict(second.feed.owned()))
        refused = self.assertRaises(
            exceptions.FencedError, second.guard, nodes[0]
        )
        self.assertTrue(refused.lasting)
        first.stop()
        self.assertIs(embedding.PlaceState.STOPPED, first.state)
        self.assertEqual({}, dict(first.feed.owned()))
        self.wait_for(second, nodes)
        self.assertEqual([], self.lost)

    def test_forced_down_loses_its_place_and_all_nodes(self) -> None:
        nodes = self.enrolment.enrol(2)
        host = self.embed()
        seen: list[embedding.FeedChanges] = []
        host.subscribe(seen.append)
        self.wait_for(host, nodes)
        records = self.deployment.records
        records.set_service('host1', actor='test', forced_down=True)
        self.deployment.wait_until(lambda: self.lost, 'loss of the place')
        (lost,) = self.lost
        self.assertIs(embedding.PlaceState.FORCED_DOWN, lost.state)
        self.assertIn('forced down', lost.reason)
        self.assertEqual({}, dict(host.feed.owned()))
        self.assertEqual({*nodes}, seen[-1].lost)
        records.set_service('host1', actor='test', forced_down=False)
        self.wait_for(host, nodes)
        # The program may stop it where it hears of the loss.
        stopped = threading.Event()

        def stop() -> None:
            host.stop()
            stopped.set()

        self.at_loss = stop
        records.set_service('host1', actor='test', forced_down=True)
        self.assertTrue(stopped.wait(PATIENCE))

    def test_program_and_its_signals_are_left_alone(self) -> None:
        self.enrolment.enrol(1)
        before = _threads()
        seen: list[set[int]] = []

        def look(*_: object) -> None:
            seen.append(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

        host = self.embed()
        host.subscribe(look)
        self.deployment.wait_until(lambda: bool(seen), 'a call')
        taken = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT}
        self.assertGreaterEqual(seen[0], taken)
        look()
        self.assertFalse(seen[-1] & taken)
        host.stop()
        self.deployment.wait_until(
            lambda: before >= _threads(), 'end of its threads'
        )

    def test_program_of_the_documentation(self) -> None:
        """It works on free nodes until it loses its place."""
        _, *free = self.enrolment.enrol(3, instance_share=0.34)
        done: list[str] = []
        program = embedder.Program(
            self.values(), lambda node: done.append(node.uuid)
        )
        thread = threading.Thread(target=program.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(program.stop)
        self.deployment.wait_until(
            lambda: {*done} >= {*free}, 'work on the free nodes'
        )
        self.assertEqual(sorted(free), sorted(done))
        self.deployment.records.set_service(
            'host1', actor='test', forced_down=True
        )
        thread.join(PATIENCE)
        self.assertFalse(thread.is_alive())
        self.assertIs(embedding.PlaceState.FORCED_DOWN, program.left.state)
