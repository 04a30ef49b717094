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
    def test_our_own_are_found_with_their_distribution(self) -> None:
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertLessEqual(
            {'all', 'conductor_group', 'shard_key', 'peer_list'}, set(found)
        )
        self.assertIs(filters.ShardKeyPolicy, found['shard_key'].target)
        self.assertIn('ironic-ownership ', found['shard_key'].distribution)
        self.assertEqual([], [p.error for p in found.values() if p.error])

    def test_our_own_keep_the_contract(self) -> None:
        for group, fault_of in (
            (plugins.POLICIES, plugin_validation.policy_fault),
            (plugins.BACKENDS, plugin_validation.backend_fault),
        ):
            found = plugins.installed(group)
            self.assertGreater(len(found), 2)
            for plugin in found:
                self.assertIsNone(fault_of(plugin.target), plugin.name)

    def test_plugin_is_imported_and_validated_once(self) -> None:
        self.install('theirs')
        first = plugins.find(plugins.POLICIES, 'theirs')
        with mock.patch.object(plugins, '_import') as again:
            self.assertIs(first, plugins.find(plugins.POLICIES, 'theirs'))
        again.assert_not_called()


class TestThirdParties(third_party.ThirdPartyCase):
    def refused(self, *names: str) -> str:
        with self.assertRaises(exceptions.ConfigurationError) as caught:
            plugins.policies(names)
        self.assertEqual(len(names), len(caught.exception.faults))
        return str(caught.exception)

    def test_installed_policy_loads_like_our_own(self) -> None:
        dist = self.install('theirs')
        self.assertEqual(
            'Policy', plugins.policies(['theirs'])['theirs'].__name__
        )
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertEqual(dist, found['theirs'].distribution)

    def test_node_is_asked_for_what_a_loaded_policy_needs(self) -> None:
        self.assertEqual(set(), plugins.node_fields)
        self.install('broken', 'import no_such_module_at_all')
        self.install(
            'theirs',
            ASSIGNER.format(
                base='FilterPolicy',
                body='contract_version = 1; node_fields = ("extra",)',
            ),
        )
        self.assertEqual(set(), plugins.node_fields)
        plugins.policies(['theirs'])
        self.assertEqual({'extra'}, plugins.node_fields)

    def test_missing_one_is_refused_and_those_installed_are_named(
        self,
    ) -> None:
        text = self.refused('nonsuch')
        for part in (plugins.POLICIES, "'nonsuch'", 'not installed', 'all'):
            self.assertIn(part, text)

    def test_one_that_cannot_be_imported_is_refused_with_the_cause(
        self,
    ) -> None:
        for source, cause in (
            ('import no_such_module_at_all', 'no_such_module_at_all'),
            ('raise SystemError("its own mistake")', 'its own mistake'),
            ('def f(:', 'SyntaxError'),
            ('', 'Policy'),
        ):
            with self.subTest(source=source):
                name = f'broken{len(cause)}'
                dist = self.install(name, source)
                text = self.refused(name)
                for part in (plugins.POLICIES, repr(name), dist, cause):
                    self.assertIn(part, text)

    def test_import_that_interrupts_is_no_interrupt_of_an_operator(
        self,
    ) -> None:
        for what in ('KeyboardInterrupt', 'SystemExit', 'GeneratorExit'):
            name = f'raises_{what.lower()}'
            self.install(name, f'raise {what}()')
            self.assertIn(what, self.refused(name))
            found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
            self.assertIn(what, str(found[name].error))

    def test_import_that_ends_the_process_is_refused(self) -> None:
        self.install('leaves', 'import os; os._exit(0)')
        self.assertIn('os._exit(0)', self.refused('leaves'))

    def test_one_name_of_two_distributions_is_refused_and_both_named(
        self,
    ) -> None:
        one, two = self.install('theirs'), self.install('theirs')
        text = self.refused('theirs')
        for part in ('ambiguous', one, two):
            self.assertIn(part, text)

    def test_one_name_and_one_module_of_two_distributions_is_refused(
        self,
    ) -> None:
        one, two = (
            self.install('theirs', module='same_module') for _ in range(2)
        )
        text = self.refused('theirs')
        for part in ('ambiguous', one, two):
            self.assertIn(part, text)

    def test_name_of_one_of_ours_is_refused_for_both(self) -> None:
        dist = self.install('shard_key')
        text = self.refused('shard_key')
        self.assertIn(dist, text)
        self.assertIn('ironic-ownership', text)

    def test_one_distribution_on_the_path_twice_is_no_clash(self) -> None:
        for _ in range(2):
            self.install('theirs', distribution='twice', module='twice_module')
        plugins.policies(['theirs'])

    def test_one_for_another_contract_is_refused(self) -> None:
        self.install('newer', third_party.POLICY.format(version=3))
        self.assertIn('contract version 3', self.refused('newer'))

    def test_one_that_breaks_the_contract_is_refused_saying_how(self) -> None:
        for number, (base, body, cause) in enumerate(BREAKING):
            source = ASSIGNER.format(base=base, body=body)
            if not base:
                source = body
            with self.subTest(base=base, body=body):
                name = f'breaking{number}'
                self.install(name, source)
                text = self.refused(name)
                self.assertIn('breaks the plugin contract', text)
                self.assertIn(cause, text)

    def test_broken_one_that_is_not_selected_is_listed_and_harmless(
        self,
    ) -> None:
        self.install('broken', 'import no_such_module_at_all')
        found = {p.name: p for p in plugins.installed(plugins.POLICIES)}
        self.assertIsNone(found['broken'].target)
        self.assertIn('cannot be loaded', str(found['broken'].error))
        plugins.policies(['all'])

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
