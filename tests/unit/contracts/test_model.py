from __future__ import annotations

import json
import unittest

from hypothesis import given
from hypothesis import strategies as st

from ironic_ownership.contracts import model

# Unusual case, white space, JSON syntax. For all of Unicode hypothesis would
# first build tables, which takes seconds.
_TEXT = st.text(
    'aB1-. \t\n\u2003\u00df\u0130\u0131\u03a3\u1e9e"\\{\x00\U0001f600'
)
_SCOPES = st.builds(
    model.Scope,
    shard=st.sampled_from((None, 'a', 'b')),
    conductor_group=st.sampled_from((None, '', 'g')),
    nothing=st.booleans(),
)
_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    _TEXT,
    st.lists(_TEXT).map(tuple),
)
_SETTINGS = st.builds(
    model.MemberSettings,
    policies=st.lists(
        st.builds(
            model.PolicySettings.of,
            _TEXT,
            st.dictionaries(_TEXT, _VALUES, max_size=3),
        ),
        max_size=3,
    ).map(tuple),
    contract_version=st.integers(0, 5),
)


class TestCanonicalHost(unittest.TestCase):
    def test_case_and_white_space_mean_nothing(self) -> None:
        self.assertEqual('host1', model.canonical_host(' HoSt1\n'))

    @given(_TEXT)
    def test_canonical_name_is_its_own_canonical_name(self, host) -> None:
        once = model.canonical_host(host)
        self.assertEqual(once, model.canonical_host(once))


class TestScope(unittest.TestCase):
    @given(
        _SCOPES,
        _SCOPES,
        st.sampled_from((None, 'a', 'b', 'c')),
        st.sampled_from(('', 'g', 'h')),
    )
    def test_intersection_is_what_both_match(
        self, one, other, shard, group
    ) -> None:
        self.assertIs(
            one.matches(shard, group) and other.matches(shard, group),
            one.intersect(other).matches(shard, group),
        )

    def test_contradiction_keeps_the_shard_filter(self) -> None:
        both = model.Scope(shard='a').intersect(model.Scope(shard='b'))
        self.assertTrue(both.nothing)
        self.assertIsNotNone(both.shard)


class TestMemberSettings(unittest.TestCase):
    @given(_SETTINGS)
    def test_json_carries_settings_unchanged(self, settings) -> None:
        again = model.MemberSettings.from_json(settings.to_json())
        self.assertEqual(settings, again)
        self.assertEqual(settings.to_json(), again.to_json())
        for one in settings.policies:
            turned = dict(reversed(one.options))
            self.assertEqual(one, model.PolicySettings.of(one.name, turned))

    def test_text_of_another_form_is_a_value_error(self) -> None:
        for text in (
            '',
            'null',
            '[]',
            '{}',
            '{"policies": [1], "contract_version": 1}',
            '{"policies": [{"name": "a"}], "contract_version": 1}',
            '{"policies": [], "contract_version": null}',
            '{"policies": [], "contract_version": "x"}',
        ):
            with self.assertRaises(ValueError):
                model.MemberSettings.from_json(text)

    def test_fields_of_a_later_release_are_ignored(self) -> None:
        data = json.loads(model.MemberSettings().to_json())
        data['later'] = {}
        self.assertEqual(
            model.MemberSettings(),
            model.MemberSettings.from_json(json.dumps(data)),
        )


class TestView(unittest.TestCase):
    def test_checksum_shows_restart_and_changed_settings(self) -> None:
        settings = model.MemberSettings((model.PolicySettings('all'),))
        views = [
            model.View.of(members)
            for members in (
                [],
                [model.Member('a', 'i')],
                [model.Member('a', 'j')],
                [model.Member('a', 'i', 0.0, settings)],
            )
        ]
        self.assertEqual(4, len({view.checksum for view in views}))
        one, two = model.Member('a', 'i'), model.Member('b', 'j')
        self.assertEqual(
            model.View.of([one, two]).checksum,
            model.View.of([two, one]).checksum,
        )
