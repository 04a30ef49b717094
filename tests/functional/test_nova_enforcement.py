"""A real nova-compute, and an Ironic that refuses its late requests."""

from __future__ import annotations

from lab import process
from tests.functional.support import ironics, novas

KEY = 'a-key-for-a-real-nova-compute-that-is-long'


class TestFrozenService(novas.NovaTestCase):
    def test_reboot_and_deploy_of_a_fenced_service_are_refused_by_ironic(
        self,
    ) -> None:
        rebooted, deployed = sorted(novas.GOLDEN)[:2]
        self.enrol([rebooted, deployed])
        config = self.config_of_records(
            ownership={'policies': 'all'}, enforcement={'shared_key': KEY}
        )
        self.enforce()
        proxy = ironics.HoldingProxy(self.cloud.ironic.endpoint)
        self.addCleanup(proxy.stop)
        compute = self.compute(
            'host1',
            'ours',
            {**config, 'ironic': {'endpoint_override': proxy.url}},
        )
        compute.start()
        # Without a header no request may change a node: all of these had one.
        server, _ = self.boot(rebooted)
        self.api.reboot(server)
        self.api.wait_for_server(server, 'ACTIVE')
        self.assertEqual([], self.refused())
        with proxy.holding(
            f'/v1/nodes/{rebooted}/states/power',
            f'/v1/nodes/{deployed}/states/provision',
        ) as asked:
            self.api.reboot(server)
            self.api.boot('deployed', deployed)
            self.assertTrue(asked.wait(300))
            # Its guard has permitted both requests, which are on their way.
            compute.freeze()
            self.succeed('service', 'set', 'host1', '--down', '--yes')
            before = self.states(rebooted, deployed)
        process.wait_for(
            lambda: {rebooted, deployed} <= self.refused_nodes(), 'refusals'
        )
        compute.thaw()
        # It ends by itself, and each further request is refused as well.
        self.assertEqual(1, compute.process.wait(timeout=300))
        self.assertEqual(before, self.states(rebooted, deployed))

    def states(self, *nodes: str) -> list[list[object]]:
        """Return what a reboot, a deploy or their clean-up would change."""
        return [
            [
                self.ironic_node(node)[name]
                for name in (
                    *('power_state', 'target_power_state'),
                    *('provision_state', 'target_provision_state'),
                    *('instance_uuid', 'updated_at'),
                )
            ]
            for node in nodes
        ]

    def refused_nodes(self) -> set[str]:
        """Return the nodes for which a fenced service was refused."""
        lines = self.refused('forced_down')
        return {n for n in novas.GOLDEN if any(n in one for one in lines)}

    def enforce(self) -> None:
        """Start Ironic again with the middleware, which requires a header."""
        ironic = self.cloud.ironic
        url = self.own_config.read_text().partition('connection = ')[2]

        def restart(middleware: dict[str, str] | None) -> None:
            ironic.stop()
            ironic.middleware = middleware
            ironic.start()

        self.addCleanup(restart, None)
        restart(
            {
                'connection': url.split()[0],
                'shared_keys': KEY,
                'require_for': '*',
                # A busy machine may need more than a minute to fence it.
                'signature_lifetime': '3600',
            }
        )

    def refused(self, code: str = '') -> list[str]:
        """Return the refusals in the log of Ironic."""
        log = self.cloud.ironic.directory / 'ironic.log'
        return [
            line
            for line in log.read_text().splitlines()
            if f'is refused: {code}' in line
        ]
