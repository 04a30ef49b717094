from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import threading
from unittest import mock

import stevedore

from ironic_ownership import plugins
from ironic_ownership.contracts import exceptions, plugin_validation
from ironic_ownership.policies import filters
from tests.unit import third_party

ASSIGNER = """
from ironic_ownership.contracts import options, policy

class Policy(policy.{base}):
    {body}
"""


ONE = 'contract_version = 1; '
ASSIGNS = f'{ONE}assign = lambda self, nodes, hosts: []; '
TWICE = (
    f'{ONE}options = tuple(options.Option(n, options.OptionType.FLOAT, "H.", '
    'aliases=("b",)) for n in "ab")'
)
BREAKING = (
    # base class, body of the class, cause
    ('', 'class Policy: pass', 'not a subclass'),
    ('', 'Policy = 5', 'not a subclass'),
    ('Policy', ONE, 'not a subclass'),
    ('FilterPolicy, policy.AssignerPolicy', ASSIGNS, 'not a subclass'),
    ('FilterPolicy', 'pass', 'contract_version'),
    ('FilterPolicy', 'contract_version = "1"', 'contract_version'),
    ('AssignerPolicy', ONE, 'assign'),
    ('FilterPolicy', f'{ONE}__len__ = lambda s: 0', '__len__'),
    ('FilterPolicy', f'{ONE}options = ["a"]', 'options'),
    ('FilterPolicy', TWICE, 'one name twice: b'),
    ('AssignerPolicy', f'{ASSIGNS}extra_movement = 2', 'extra_movement'),
    ('AssignerPolicy', f'{ASSIGNS}reads_owners = True', '= 2'),
    ('FilterPolicy', f'{ONE}node_fields = ("owner",)', 'node_fields'),
    ('FilterPolicy', f'{ONE}node_fields = "extra"', 'node_fields'),
    *(
        ('FilterPolicy', f'contract_version = 2; node_fields = {f!r}', cause)
        for f, cause in (
            (('no_such_field',), 'no_such_field'),
            (('driver_info',), 'driver_info.KEY'),
            (('driver_info.ipmi_password',), 'secret'),
            (('owner.name',), "request 'owner'"),
            ((5,), '5'),
        )
    ),
)


class TestOurs(third_party.ThirdPartyCase):
    def test_our_own_are_found_and_keep_the_contract(self) -> None:
        for group, fault_of in (
            (plugins.POLICIES, plugin_validation.policy_fault),
            (plugins.BACKENDS, plugin_validation.backend_fault),
        ):
            found = plugins.installed(group)
            self.assertGreater(len(found), 2)
            for plugin in found:
                self.assertIsNone(plugin.error, plugin.name)
                self.assertIsNone(fault_of(plugin.target), plugin.name)
        found = plugins.find(plugins.POLICIES, 'shard_key')
        self.assertIs(filters.ShardKeyPolicy, found.target)
        self.assertIn('ironic-ownership ', found.distribution)

    def test_plugin_is_imported_and_validated_once(self) -> None:
        self.install('theirs')
        first = plugins.find(plugins.POLICIES, 'theirs')
        with mock.patch.object(plugins, '_import') as again:
            self.assertIs(first, plugins.find(plugins.POLICIES, 'theirs'))
        again.assert_not_called()


class TestThirdParties(third_party.ThirdPartyCase):
    def refused(self, name: str, *parts: str) -> None:
        """Check that a policy is refused, and what the fault says."""
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            plugins.policies([name])
        (fault,) = caught.exception.faults
        for part in (plugins.POLICIES, repr(name), *parts):
            self.assertIn(part, fault)

    def listed(self, name: str) -> plugins.Plugin:
        (found,) = (
            one
            for one in plugins.installed(plugins.POLICIES)
            if one.name == name
        )
        return found

    def test_installed_policy_loads_like_our_own(self) -> None:
        self.assertEqual(set(), plugins.node_fields)
        broken = 'import no_such_module_at_all'
        self.install('broken', broken)
        # One distribution on the path twice is no clash.
        for _ in range(2):
            dist = self.install(
                'theirs',
                ASSIGNER.format(
                    base='FilterPolicy',
                    body='contract_version = 1; node_fields = ("extra",)',
                ),
                distribution='twice',
                module='twice_module',
            )
        self.assertEqual(set(), plugins.node_fields)
        found = plugins.policies(['all', 'theirs'])['theirs']
        self.assertEqual('Policy', found.__name__)
        self.assertEqual(dist, self.listed('theirs').distribution)
        # A node is requested with what a loaded policy needs.
        self.assertEqual({'extra'}, plugins.node_fields)
        # A broken one that is not selected is listed and harmless.
        self.assertIsNone(self.listed('broken').target)
        self.assertIn('cannot be loaded', str(self.listed('broken').error))

    def test_one_that_cannot_be_imported_is_refused_with_the_cause(
        self,
    ) -> None:
        self.refused('nonsuch', 'not installed', 'all')
        for number, (source, cause) in enumerate(
            (
                ('import no_such_module_at_all', 'no_such_module_at_all'),
                ('raise SystemError("its own mistake")', 'its own mistake'),
                ('def f(:', 'SyntaxError'),
                ('', 'Policy'),
                # An interrupt by an import is not one of the operator.
                ('raise KeyboardInterrupt()', 'KeyboardInterrupt'),
                ('raise SystemExit()', 'SystemExit'),
                ('raise GeneratorExit()', 'GeneratorExit'),
                ('import os; os._exit(0)', 'os._exit(0)'),
                (third_party.POLICY.format(version=3), 'contract version 3'),
            )
        ):
            with self.subTest(source=source):
                name = f'broken{number}'
                dist = self.install(name, source)
                self.refused(name, dist, cause)
                self.assertIn(cause, str(self.listed(name).error))

    def test_one_name_of_two_distributions_is_refused_and_both_named(
        self,
    ) -> None:
        for name, module in (('theirs', None), ('both', 'same_module')):
            one, two = (self.install(name, module=module) for _ in range(2))
            self.refused(name, 'ambiguous', one, two)
        # One of ours is refused for both.
        self.refused('shard_key', self.install('shard_key'), 'ironic-owners')

    def test_one_that_breaks_the_contract_is_refused_saying_how(self) -> None:
        for number, (base, body, cause) in enumerate(BREAKING):
            source = ASSIGNER.format(base=base, body=body) if base else body
            with self.subTest(base=base, body=body):
                name = f'breaking{number}'
                self.install(name, source)
                self.refused(name, 'breaks the plugin contract', cause)

    def test_import_that_hangs_is_listed_and_tried_again_later(self) -> None:
        dist = self.install(
            'hangs',
            'import sys, time\n'
            'while "end of the test" not in sys.modules: time.sleep(0.01)\n'
            + third_party.POLICY.format(version=1),
        )
        with mock.patch.object(plugins, 'LOAD_LIMIT', 0.05):
            for _ in range(2):
                found = plugins.find(plugins.POLICIES, 'hangs')
                self.assertIn(dist, str(found.error))
                self.assertIn('has not ended', str(found.error))
            threads = {*threading.enumerate()}
            plugins.find(plugins.POLICIES, 'hangs')
            # Those of other tests may end at any time.
            self.assertLessEqual({*threading.enumerate()}, threads)
        with mock.patch.dict(sys.modules, {'end of the test': sys}):
            for thread in threading.enumerate():
                if "'hangs'" in thread.name:
                    thread.join(60)
            self.assertIsNone(plugins.find(plugins.POLICIES, 'hangs').error)


class TestBrokenMetadata(third_party.ThirdPartyCase):
    """Files of any installed package, a plugin or not."""

    def test_other_plugins_are_found(self) -> None:
        for name, file, content in (
            ('a', 'entry_points.txt', b'[ironic_ownership.policies]\nodd\n'),
            ('b', 'entry_points.txt', bytes(range(128, 256))),
            ('c', 'METADATA', bytes(range(128, 256))),
            ('d', 'METADATA', b''),
        ):
            with self.subTest(name=name):
                self.install('theirs', distribution=f'whole-{name}')
                self.install(f'odd-{name}', distribution=f'odd-{name}')
                (info,) = pathlib.Path(sys.path[0]).glob('*.dist-info')
                (info / file).write_bytes(content)
                self.forget()
                known = plugins.installed(plugins.POLICIES)
                names = [p.name for p in known if p.error is None]
                self.assertLessEqual({'all', 'theirs'}, {*names})
                # Others look for their plugins in the same way.
                loaded = stevedore.NamedExtensionManager(
                    'keystoneauth1.plugin', ['none']
                )
                self.assertEqual(['none'], loaded.names())
                self.assertEqual(
                    [], stevedore.ExtensionManager(f'no.group.{name}').names()
                )
                self.doCleanups()

    def test_command_runs_with_one_line_that_names_the_package(self) -> None:
        self.install('odd', distribution='odd-metadata')
        (info,) = pathlib.Path(sys.path[0]).glob('*.dist-info')
        (info / 'entry_points.txt').write_bytes(b'[a.group]\nodd\n')
        done = subprocess.run(
            [
                *(sys.executable, '-m', 'ironic_ownership.cmd.cli'),
                *('policy', 'list', '-f', 'value', '-c', 'name'),
            ],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, 'PYTHONPATH': ':'.join(sys.path)},
        )
        self.assertEqual(0, done.returncode, done)
        self.assertIn('shard_key', done.stdout.splitlines())
        (line,) = done.stderr.splitlines()
        self.assertIn(info.name, line)
