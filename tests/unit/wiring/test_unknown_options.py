"""Unknown names in configuration files, and no false alarm about others."""

from __future__ import annotations

import pathlib
import re

from ironic_ownership.contracts import exceptions
from ironic_ownership.wiring import unknown_options
from tests.unit import configurations

NO_EFFECT = '[{}] {} is not an option, and has no effect'
SAMPLES = pathlib.Path(__file__).parents[3] / 'etc/ironic_ownership'

NOVA = {
    'DEFAULT': (
        'my_ip compute_driver instances_path reserved_host_memory_mb '
        'state_path host ssl_only cert service_down_time '
        'report_interval transport_url'
    ),
    'api': (
        'auth_strategy dhcp_domain local_metadata_per_cell max_limit '
        'list_records_by_skipping_down_cells'
    ),
    'api_database': 'connection',
    'database': 'connection slave_connection',
    'ironic': (
        'auth_type api_max_retries api_retry_interval '
        'serial_console_state_timeout shard conductor_group peer_list'
    ),
    'ironic_ownership': 'config_file shortcuts',
    'notifications': (
        'notification_format notify_on_state_change '
        'versioned_notifications_topics default_level'
    ),
    'conductor': 'workers',
    'compute': 'max_concurrent_disk_ops',
    'placement': 'auth_type region_name',
    'oslo_concurrency': 'lock_path',
    'cache': 'enabled',
    'cinder': 'os_region_name',
    'glance': 'api_servers',
    'neutron': 'service_metadata_proxy',
    'scheduler': 'workers',
    'filter_scheduler': 'enabled_filters',
    'service_user': 'send_service_user_token',
    'metrics': 'required',
    'vnc': 'enabled',
    'console': 'allowed_origins',
    'consoleauth': 'enforce_session_timeout',
    'privsep': 'user',
    'upgrade_levels': 'compute',
    'workarounds': 'skip_hypervisor_version_check_on_lm',
    'wsgi': 'api_paste_config',
    'pci': 'alias',
    'quota': 'instances',
    'keystone': 'service_type',
    'barbican': 'auth_endpoint',
    'devices': 'enabled_mdev_types',
}
"""Groups and options of Nova, as far as a name could look like one of ours."""


class TestUnknownOptions(configurations.ConfiguredCase):
    def remarks(self, text: str) -> list[str]:
        return unknown_options.remarks(self.configure(text))

    def faults(self, text: str) -> tuple[str, ...]:
        with self.assertRaises(exceptions.ConfigurationError, msg=text) as c:
            self.remarks(text)
        return c.exception.faults

    def test_every_line_of_the_sample_is_known(self) -> None:
        sample = (SAMPLES / 'ironic-ownership.conf.sample').read_text()
        # An example of a value may be none for its type: only names count.
        written: dict[str, dict[str, object]] = {}
        for name, option in re.findall(
            r'^(?:\[(\w+)\]|#([a-z][a-z0-9_]*) = )', sample, re.MULTILINE
        ):
            if name:
                group = written.setdefault(name, {})
            else:
                group[option] = []
        self.assertGreater(sum(map(len, written.values())), 200)
        conf = self.configure('[nova]\ncell_schema = nova')
        known = unknown_options.known(conf)
        ours = unknown_options.ours()
        self.assertEqual([], [*unknown_options.find(written, known, ours)])

    def test_what_seems_to_be_ours_is_a_fault(self) -> None:
        for text, *parts in (
            (
                '[membership]\nwatch_intervall = 5',
                NO_EFFECT.format('membership', 'watch_intervall')
                + ': did you mean watch_interval?',
            ),
            # An option in the wrong group.
            (
                '[ownership]\nheartbeat_interval = 5',
                NO_EFFECT.format('ownership', 'heartbeat_interval')
                + ': it belongs to [membership]',
            ),
            (
                '[owership]\npolicies = all',
                '[owership] is not a group of options: did you mean ownershi',
            ),
            # A removed option names what replaces it.
            *(
                (
                    f'[policy_reservation]\nfallback = {value}',
                    'fallback was removed: every Ironic',
                )
                for value in ('', 'instance_uuid')
            ),
            ('[ironci]\nshard_key = rack1',),
            ('[ironic]\nshard_kye = rack1',),
            ('[ironic]\nconductor_groups = rack1',),
            ('[ironic]\npeer-lists = host1',),
            ('[membrship]\nmember_ttl = 30',),
            ('[backend_tooz]\nbackend_uri = etcd3+http://127.0.0.1',),
            ('[backend_toz]\nurl = x',),
            ('[policy_reservation]\nexpires = 5',),
            ('[database]\nconection = sqlite:////tmp/a',),
            ('[DEFAULT]\nstatepath = /tmp',),
            ('[nova]\ncell_scheme = nova',),
            ('[placement]\nreport_inventry = true',),
        ):
            (fault,) = self.faults(text)
            for part in parts:
                self.assertIn(part, fault)
        # All faults come at once.
        found = self.faults(
            '[owership]\npolicies = all\n[xyz]\na = 1\n'
            '[ownership]\npolicy = all'
        )
        self.assertEqual(2, len(found), found)

    def test_file_of_another_program_next_to_ours_has_no_fault(self) -> None:
        text = ''
        for group, names in NOVA.items():
            lines = (f'{name} = none' for name in names.split())
            text += '\n'.join((f'[{group}]', *lines, ''))
        found = self.remarks(text)
        self.assertIn(NO_EFFECT.format('ironic', 'api_max_retries'), found)

    def test_names_that_are_known_to_others(self) -> None:
        for text in (
            # oslo.config takes them as well.
            '[ironic]\npartition_key = g',
            '[ironic]\nauth_type = password\nuser-domain-name = Default',
            '[ironic]\nauth_type = password\nuser_name = x\ntenant_name = y',
            '[ironic]\nauth_section = other\n[other]\nauth_type = none',
            '[MEMBERSHIP]\nheartbeat-interval = 5',
            '[DEFAULT]\nlogfile = x\ndebug = true',
            # Groups of libraries, and of plugins that are not in use.
            '[keystone_authtoken]\nany = 1',
            '[oslo_policy]\nenforce_scope = true',
            '[backend_tooz]\nbackend_url = etcd3+http://127.0.0.1',
            '[api]\nauth_strategy = keystone',
        ):
            self.assertEqual([], self.remarks(text), text)
        self.assertEqual(1, len(self.remarks('[policy_theirs]\ncolour = x')))
        for group in (
            *('xyz', 'ssl', 'cors', 'profiler', 'oslo_concurrency'),
            *('oslo_reports', 'audit_middleware_notifications'),
        ):
            (remark,) = self.remarks(f'[{group}]\nenabled = true')
            self.assertIn(f'[{group}] is not a group of options', remark)
