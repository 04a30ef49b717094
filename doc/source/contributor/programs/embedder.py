"""A program that embeds a host: it powers off the nodes that it owns."""

import logging
import threading

from ironic_ownership import embedding

LOG = logging.getLogger(__name__)


class Program:
    """Acts on a node only with a permission of the guard.

    :param power_off: the work of this program on one node.
    """

    def __init__(self, overrides, power_off):
        self.host = embedding.EmbeddedHost(
            overrides=overrides, on_lost_place=self._lost_place
        )
        self._power_off = power_off
        self._stopping = threading.Event()
        self.left = None

    def run(self):
        """Serve until the stop, or until the place is lost."""
        self.host.start()
        try:
            # A standby waits here, before it accepts any work.
            while not self.host.wait_until_active(1.0):
                if self._stopping.is_set():
                    return
            generation = 0
            while not self._stopping.is_set():
                changes = self.host.feed.changes_since(generation)
                generation = changes.generation
                for uuid, view in changes.gained.items():
                    if view.node.instance_uuid is None:
                        self._act_on(uuid)
                self.host.feed.wait(generation, 1.0)
        finally:
            self.host.stop()

    def stop(self):
        """Make run return."""
        self._stopping.set()

    def _act_on(self, uuid):
        try:
            permission = self.host.guard(uuid)
        except embedding.exceptions.OwnershipError as exc:
            LOG.warning('not %s: %s', uuid, exc)
            return
        self._power_off(permission.node)

    def _lost_place(self, lost):
        # Another process serves this host now, or is to. A program with a
        # queue of its own would end here at once: os._exit(1).
        self.left = lost
        self.stop()
