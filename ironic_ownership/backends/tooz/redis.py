"""Redis, with or without sentinels.

The client of Redis believes the first sentinel that answers. Here all are
asked, and the newest configuration counts.
"""

from __future__ import annotations

import functools
import queue
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qs

from oslo_log import log

from ironic_ownership.backends.tooz import driver

LOG = log.getLogger(__name__)

_PORT = re.compile(r'.:\d+$')


class RedisDriver(driver.Driver):
    """A Redis server, or the primary that sentinels name."""

    name = 'redis'
    schemes = ('redis',)
    library = 'redis'
    capabilities: ClassVar[driver.Capabilities] = driver.SERVER
    reads_in_bulk = True
    reserved = driver.Driver.reserved | {
        'socket_timeout',
        'socket_connect_timeout',
        'retry_on_timeout',
    }
    kinds: ClassVar[Mapping[str, str]] = {
        'db': driver.WHOLE,
        'encoding': driver.ENCODING,
        'health_check_interval': driver.NUMBER,
        'sentinel_fallback': driver.SERVERS,
        'sentinel_ssl': driver.BOOLEAN,
        'socket_keepalive': driver.BOOLEAN,
        'ssl': driver.BOOLEAN,
    }
    tls = ('ssl', 'sentinel_ssl')
    of_tls = frozenset({'ssl_certfile', 'ssl_keyfile', 'ssl_ca_certs'})
    _has_warned = False

    def faults(self) -> Sequence[str]:
        from tooz.drivers import redis

        self.known = redis.RedisDriver.CLIENT_ARGS | {'namespace'}
        found, query = [*super().faults()], self.store_url.parts.query
        servers = parse_qs(query).get('sentinel_fallback', [])
        servers += self.store_url.servers or ['']
        if 'sentinel' in self.store_url.query and not all(
            map(_PORT.search, servers)
        ):
            found.append('a sentinel needs its port, such as :26379')
        return found

    def options(self) -> Mapping[str, Any]:
        return {
            **super().options(),
            'membership_timeout': self.ttl,
            'socket_timeout': self.request_timeout,
            'socket_connect_timeout': self.request_timeout,
        }

    def prepare(self, coordinator: Any) -> None:
        make = coordinator._make_client

        def make_client(*args: Any) -> Any:
            client = make(*args)
            if self.store_url.credentials:  # tooz does not decode them
                user, password = self.store_url.credentials
                client.connection_pool.connection_kwargs.update(
                    username=user or None, password=password or None
                )
            _switch_off_retries(client)
            _fail_to_connect_once(client.connection_pool)
            manager = getattr(client.connection_pool, 'sentinel_manager', None)
            if manager is not None:
                for sentinel in manager.sentinels:
                    _switch_off_retries(sentinel)
                manager.discover_master = functools.partial(
                    _newest_primary, manager, patience=self.request_timeout
                )
            return client

        coordinator._make_client = make_client

    def check(self, coordinator: Any) -> None:
        # Redis counts its good replicas only if both options are set.
        is_limited = 'min_slaves_good_slaves' in coordinator._server_info
        if is_limited or 'sentinel' not in self.store_url.query:
            return
        if not self._has_warned:
            LOG.warning(
                'backend tooz: the primary at %s accepts writes without its '
                'replicas: after a partition, the services of both sides '
                'declare each other dead. Set min-replicas-to-write 1 and '
                'min-replicas-max-lag on every server',
                self.store_url,
            )
        self._has_warned = True

    def failed(self, coordinator: Any) -> None:
        """Ask the sentinels again before the next call."""
        # A primary that was replaced behind a partition goes on answering.
        if coordinator._client is not None:
            coordinator._client.connection_pool.disconnect()

    def disconnect(self, coordinator: Any) -> None:
        if coordinator._client is not None:
            coordinator._client.close()


def _switch_off_retries(client: Any) -> None:
    from redis import backoff, retry

    # Together with those of tooz, a call to a server that is down would
    # continue for minutes after its end.
    client.set_retry(retry.Retry(backoff.NoBackoff(), 0))


def _fail_to_connect_once(pool: Any) -> None:
    """Raise errors of new connections as those that tooz does not retry."""
    import redis

    get = pool.get_connection

    def get_connection(*args: Any, **options: Any) -> Any:
        try:
            return get(*args, **options)
        except redis.ConnectionError as exc:
            # tooz would try 15 times, and the reason is lost when time is up.
            raise redis.RedisError(f'{type(exc).__name__}: {exc}') from exc

    pool.get_connection = get_connection


def _newest_primary(
    manager: Any, name: str, *, patience: float
) -> tuple[str, int]:
    """Return the address of the newest configuration of all sentinels.

    They are asked at the same time: one that does not answer costs half of
    the patience only, if another one does.
    """
    import redis

    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask(sentinel: Any) -> None:
        try:
            answers.put(sentinel.sentinel_masters().get(name))
        except (redis.RedisError, OSError) as exc:
            answers.put(exc)

    for sentinel in manager.sentinels:
        threading.Thread(target=ask, args=(sentinel,), daemon=True).start()
    started = time.monotonic()
    found: list[tuple[int, tuple[str, int]]] = []
    errors: list[str] = []
    for _ in manager.sentinels:
        ends = started + (patience / 2 if found else patience)
        try:
            state = answers.get(timeout=max(0.0, ends - time.monotonic()))
        except queue.Empty:
            errors.append(f'no answer within {patience:g} s')
            break
        if isinstance(state, Exception):
            errors.append(f'{type(state).__name__}: {state}')
        elif state and manager.check_master_state(state, name):
            address = state['ip'], int(state['port'])
            found.append((int(state['config-epoch']), address))
    if not found:
        raise redis.RedisError(
            f'no sentinel names a primary for {name!r}: '
            + ('; '.join(errors) or 'none knows it, or it is down')
        )
    # Sentinels on the wrong side of a partition still name the old primary.
    return max(found)[1]
