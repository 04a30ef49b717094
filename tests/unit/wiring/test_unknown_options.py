"""Unknown names in configuration files, and no false alarm about others."""

from __future__ import annotations

import pathlib
import re

from ironic_ownership.contracts import exceptions
from ironic_ownership.wiring import unknown_options
from tests.unit import configurations

NO_EFFECT = '[{}] {} is not an option, and has no effect'
SAMPLES = pathlib.Path(__file__).parents[3] / 'etc/ironic_ownership'

NOVA_CONF = """
[DEFAULT]
my_ip = 10.0.0.1
compute_driver = ironic.IronicDriver
instances_path = /var/lib/nova/instances
reserved_host_memory_mb = 0
state_path = /var/lib/nova
host = rack1
ssl_only = false
cert = self.pem
service_down_time = 60
report_interval = 10
transport_url = rabbit://
[api]
auth_strategy = keystone
dhcp_domain = example
local_metadata_per_cell = false
max_limit = 1000
list_records_by_skipping_down_cells = true
[api_database]
connection = mysql+pymysql://
[database]
connection = sqlite:////tmp/a
slave_connection = sqlite:////tmp/b
[ironic]
auth_type = none
api_max_retries = 60
api_retry_interval = 2
serial_console_state_timeout = 10
shard = rack1
conductor_group = a
peer_list = rack1
[ironic_ownership]
config_file = /etc/nova/ironic-ownership.conf
shortcuts = true
[notifications]
notification_format = both
notify_on_state_change = vm_state
versioned_notifications_topics = versioned_notifications
default_level = INFO
[conductor]
workers = 2
[compute]
max_concurrent_disk_ops = 0
[placement]
auth_type = none
region_name = one
[oslo_concurrency]
lock_path = /var/lock/nova
[cache]
enabled = true
[cinder]
os_region_name = one
[glance]
api_servers = http://
[neutron]
service_metadata_proxy = true
[scheduler]
workers = 1
[filter_scheduler]
enabled_filters = ComputeFilter
[service_user]
send_service_user_token = true
[metrics]
required = false
[vnc]
enabled = false
[console]
allowed_origins = x
[consoleauth]
enforce_session_timeout = true
[privsep]
user = nova
[upgrade_levels]
compute = auto
[workarounds]
skip_hypervisor_version_check_on_lm = true
[wsgi]
api_paste_config = api-paste.ini
[pci]
alias = {}
[quota]
instances = 10
[keystone]
service_type = identity
[barbican]
auth_endpoint = http://
[devices]
enabled_mdev_types = x
"""
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
        found = self.remarks(NOVA_CONF)
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
