"""Laws of a policy's options and of the settings that it advertises."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import (
    exceptions,
    model,
    options,
    plugin_validation,
)
from ironic_ownership.contracts import policy as contract
from ironic_ownership_plugin_kit import (
    option_values,
    policy_case,
    policy_process,
)

_EFFECTIVE = 2
"""Values of a list that are put in another order."""


class SettingsLaws(policy_case.PolicyCase):
    """Advertised settings are all that counts, in one form."""

    def test_class_is_one_that_a_host_loads(self) -> None:
        target = self.policy_class
        self.assertIsNone(plugin_validation.policy_fault(target))
        declared: Sequence[options.Option | options.Source]
        declared = (*target.options, *target.sources)
        for one in declared:
            self.assertTrue(one.help.strip(), f'{one.name} has no help')

    def test_settings_can_be_advertised_and_are_no_secrets(self) -> None:
        secret = {o.name for o in self.policy_class.options if o.secret}
        for given in self.settings:
            hidden = option_values.secrets(self.policy_class.options, given)
            policy = self.build({**given, **hidden})
            words = f'with {self.short(dict(given))}'
            settings = policy.settings()
            self.assertIsInstance(settings, Mapping, words)
            self.assertEqual(set(), secret & settings.keys(), words)
            for name, value in hidden.items():
                if value in repr(settings):
                    self.fail(f'{words}: the value of {name} is advertised')
            advertised = model.MemberSettings(
                (model.PolicySettings.of('it', settings),)
            )
            try:
                read = model.MemberSettings.from_json(advertised.to_json())
            except (TypeError, ValueError) as exc:
                self.fail(f'{words}: {self.short(settings)} is no JSON: {exc}')
            size = len(advertised.to_json())
            if size > model.MAX_SETTINGS_BYTES:
                self.fail(
                    f'{words}: {size} bytes are advertised, at most '
                    f'{model.MAX_SETTINGS_BYTES} may be'
                )
            self.assert_same(
                _options(advertised), _options(read), f'{words}, as JSON'
            )

    def test_settings_build_the_same_policy_again(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            self._check_rebuilt(policy, nodes, hosts, words)
        hosts = self.memberships()[-1]
        for settings, words in self._variants():
            try:
                policy = self.build(settings)
            except Exception:  # noqa: BLE001, S112 - a value of our own
                continue
            self._check_rebuilt(policy, self.samples(policy), hosts, words)

    def _check_rebuilt(
        self, policy: contract.Policy, nodes: Any, hosts: Any, words: str
    ) -> None:
        settings = policy.settings()
        missing = {
            option.name
            for option in self.policy_class.options
            if not (option.secret or option.per_member)
        } | {
            source.name
            for source in self.policy_class.sources
            if not source.per_member
        }
        missing -= settings.keys()
        if missing:
            self.fail(
                f'{words}: settings() lacks {", ".join(sorted(missing))}'
            )
        try:
            again = self.policy_class(dict(settings))
        except Exception as exc:  # noqa: BLE001 - third-party code
            self.fail(f'{words}: cannot be built from them: {exc!r}')
        self.assert_same(dict(settings), dict(again.settings()), words)
        self.assert_same(
            self.answers(policy, nodes, hosts),
            self.answers(again, nodes, hosts),
            f'{words}, and built again from its settings '
            f'{self.short(dict(settings))}',
        )

    def _variants(self) -> Iterator[tuple[policy_process.Settings, str]]:
        """Yield settings with another value of one option each."""
        for settings in self.settings:
            for option in self.policy_class.options:
                if option.secret:
                    continue
                current = settings.get(option.name, option.default)
                for value in option_values.others(option, current):
                    changed = {**settings, option.name: value}
                    yield changed, f'with {self.short(changed)}'

    def test_lists_without_an_order_are_advertised_in_one_order(self) -> None:
        lists = [
            option
            for option in self.policy_class.options
            if option.type is options.OptionType.LIST and not option.secret
        ]
        if not lists:
            self.inapplicable('no option is a list')
        for settings, option in itertools.product(self.settings, lists):
            name = option.name
            given = settings.get(name, option.default)
            values = self._effective(settings, name, given)
            first = self._known({**settings, name: values})
            for other, what in (
                (values[::-1], 'sort it'),
                ((*values, *values[:1]), 'drop what comes twice'),
            ):
                found = self._known({**settings, name: other})
                if first and found and first[1] == found[1]:
                    self.assert_same(
                        first[0],
                        found[0],
                        f'the option {name} as {list(values)} and as '
                        f'{list(other)} gives the same answers, and other '
                        'settings, so these services would not be peers '
                        f'({what}, or give nodes for which it counts)',
                    )

    def _effective(
        self, settings: policy_process.Settings, name: str, given: model.Value
    ) -> tuple[str, ...]:
        """Return values on each of which the answers depend."""
        values = given if isinstance(given, tuple) else ()
        if len(set(values)) >= _EFFECTIVE:
            return values
        unset = self._known({**settings, name: ()})
        found = (
            text
            for text in dict.fromkeys((*values, *option_values.LISTED))
            if (alone := self._known({**settings, name: (text,)}))
            and (unset is None or alone[1] != unset[1])
        )
        return tuple(itertools.islice(found, _EFFECTIVE))

    def _known(
        self, settings: policy_process.Settings
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Return settings and answers; ``None`` if they are refused."""
        try:
            policy = self.build(settings)
            hosts = self.memberships()[0]
            given = self.answers(policy, self.samples(policy), hosts)
            return dict(policy.settings()), given
        except Exception:  # noqa: BLE001 - a value of our own
            return None

    def test_remarks_are_lines(self) -> None:
        for policy, words in self.built():
            remarks = policy.remarks()
            self.assertNotIsInstance(remarks, str, words)
            for remark in remarks:
                self.assertIsInstance(remark, str, words)

    def test_host_is_accepted_or_refused_with_a_message(self) -> None:
        for policy, words in self.built():
            for host in policy_process.MEMBERS[-1]:
                try:
                    policy.check_host(host)
                except exceptions.PolicySettingsError as exc:
                    self.assertTrue(str(exc), words)


def _options(settings: model.MemberSettings) -> dict[str, Any]:
    return dict(settings.policies[0].options)
