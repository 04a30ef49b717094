"""Redis, with or without sentinels.

The client's own retries are switched off: with tooz's on top, a call to a
server that is down would go on for minutes after it was abandoned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import driver
from ironic_ownership.contracts.capabilities import Capability


class RedisStore(driver.Store):
    """A Redis server."""

    name = 'redis'
    schemes = ('redis',)
    library = 'redis'
    extra = 'redis'
    capabilities: ClassVar[driver.Capabilities] = frozenset(
        {
            Capability.SHARED,
            Capability.STORE_CLOCK,
        }
    )
    takes_credentials = True
    reads_at_once = True
    reserved = driver.Store.reserved | {
        'socket_timeout',
        'socket_connect_timeout',
        'retry_on_timeout',
    }

    def options(self) -> Mapping[str, Any]:
        """Return the options of the driver."""
        return {
            **super().options(),
            'membership_timeout': self.ttl,
            'socket_timeout': self.request_timeout,
            'socket_connect_timeout': self.request_timeout,
        }

    def prepare(self, coordinator: Any) -> None:
        """Switch off the retries of the client that will be made."""
        from redis import backoff, retry

        make = coordinator._make_client

        def make_client(*args: Any) -> Any:
            client = make(*args)
            client.set_retry(retry.Retry(backoff.NoBackoff(), 0))
            return client

        coordinator._make_client = make_client

    def disconnect(self, coordinator: Any) -> None:
        """Close the connections."""
        if coordinator._client is not None:
            coordinator._client.close()
