"""etcd: a lease for each member, and a server that reports every change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tooz import coordination

from ironic_ownership.backends.tooz import (
    driver,
    etcd_members,
    etcd_servers,
    members,
)


class EtcdDriver(driver.Driver):
    """An etcd, which may be a cluster."""

    name = 'etcd'
    schemes = ('etcd3+http', 'etcd3+https')
    library = 'etcd3gw'
    extra = 'etcd'
    capabilities: ClassVar[driver.Capabilities] = driver.CONSENSUS
    takes_several_servers = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._servers = etcd_servers.Servers(
            self.store_url.servers or ('localhost',)
        )
        user = self.store_url.credentials
        self._login = etcd_servers.Login(user) if user else None
        self._granted = 0

    @property
    def url(self) -> str:
        return self.store_url.at(self._servers.addresses[0])

    def prepare(self, coordinator: Any) -> None:
        client = coordinator.client
        client.timeout = self.request_timeout
        adapter = etcd_servers.Adapter(
            self._servers, self._login, self.call_timeout
        )
        for scheme in ('http://', 'https://'):
            client.session.mount(scheme, adapter)
        if 'ca_cert' in self.store_url.query:
            # Otherwise an authority named in the environment has priority.
            client.session.trust_env = False

    def check(self, coordinator: Any) -> None:
        """Refuse longer leases: the shortest is 1.5 election time-outs."""
        if not self._granted:
            client = coordinator.client
            lease = client.post(
                client.get_url('/lease/grant'),
                json={'TTL': self.whole_ttl, 'ID': 0},
            )
            client.post(
                client.get_url('/lease/revoke'), json={'ID': lease['ID']}
            )
            self._granted = int(lease['TTL'])
        if self._granted != self.whole_ttl:
            raise self.unsupported(
                f'keeps a member for {self._granted} s when asked to keep it '
                f'for {self.whole_ttl} s',
                f'Set [membership] member_ttl to {self._granted} or more',
            )

    def join(
        self,
        coordinator: Any,
        group: bytes,
        data: Mapping[str, str],
    ) -> None:
        """Skip tooz, which reads all members first, with all their data."""
        if not etcd_members.put(
            coordinator.client,
            coordinator._prefix_group(group),
            coordinator._member_id,
            data,
            coordinator._membership_lease.id,
        ):
            raise coordination.GroupNotCreated(group)

    def leave(self, coordinator: Any, group: bytes) -> None:
        key = coordinator._prefix_group(group) + coordinator._member_id
        coordinator.client.delete(key)

    def disconnect(self, coordinator: Any) -> None:
        coordinator.client.session.close()

    def reader(
        self,
        coordinator: Any,
        group: bytes,
        parse: members.Parse[members.T],
    ) -> members.Reader[members.T]:
        return etcd_members.MemberReader(
            coordinator.client, coordinator._prefix_group(group), parse
        )

    def watcher(self, coordinator: Any, group: bytes) -> driver.Watcher:
        return etcd_members.ChangeStream(
            coordinator.client,
            coordinator._prefix_group(group),
            accept_timeout=self.request_timeout,
            idle_timeout=self.ttl,
            turn_from=self._servers.turn_from,
        )
