"""A real nova-compute, and an Ironic that refuses its late requests."""

from __future__ import annotations

from lab import process
from tests.functional.support import ironics, novas

KEY = 'a-key-for-a-real-nova-compute-that-is-long'


class TestFrozenService(novas.NovaTestCase):
    def test_request_of_a_fenced_service_is_refused_by_ironic(self) -> None:
        self.enrol([min(novas.GOLDEN)])
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
        server, node = self.boot()
        self.api.reboot(server)
        self.api.wait_for_server(server, 'ACTIVE')
        self.assertEqual([], self.refused())
        before = self.ironic_node(node)
        with proxy.holding(f'/v1/nodes/{node}/states/power') as asked:
            self.api.reboot(server)
            self.assertTrue(asked.wait(180))
            # Its guard has permitted the request, which is on its way.
            compute.freeze()
            self.succeed('service', 'set', 'host1', '--down', '--yes')
        process.wait_for(lambda: self.refused('forced_down'), 'refusal')
        compute.thaw()
        # It ends by itself, and each further request is refused as well.
        self.assertEqual(1, compute.process.wait(timeout=300))
        after = self.ironic_node(node)
        for name in ('power_state', 'target_power_state', 'updated_at'):
            self.assertEqual(before[name], after[name])

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
