"""Redis, with or without sentinels.

The client's own retries are switched off: together with those of tooz, a
call to a server that is down would continue for minutes after its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ironic_ownership.backends.tooz import driver


class RedisDriver(driver.Driver):
    """A Redis server."""

    name = 'redis'
    schemes = ('redis',)
    library = 'redis'
    extra = 'redis'
    capabilities: ClassVar[driver.Capabilities] = driver.SERVER
    takes_credentials = True
    reads_in_bulk = True
    reserved = driver.Driver.reserved | {
        'socket_timeout',
        'socket_connect_timeout',
        'retry_on_timeout',
    }

    def options(self) -> Mapping[str, Any]:
        return {
            **super().options(),
            'membership_timeout': self.ttl,
            'socket_timeout': self.request_timeout,
            'socket_connect_timeout': self.request_timeout,
        }

    def prepare(self, coordinator: Any) -> None:
        from redis import backoff, retry

        make = coordinator._make_client

        def make_client(*args: Any) -> Any:
            client = make(*args)
            client.set_retry(retry.Retry(backoff.NoBackoff(), 0))
            return client

        coordinator._make_client = make_client

    def disconnect(self, coordinator: Any) -> None:
        if coordinator._client is not None:
            coordinator._client.close()
