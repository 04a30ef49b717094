"""Sign-in, sessions, forms of other sites."""

from __future__ import annotations

import unittest
from unittest import mock

from keystoneauth1 import access

from ironic_ownership_console import keystone
from tests.unit.console import console_case
from tests.unit.engine import world

_FORM = {
    'user': 'ada',
    'password': 'right',
    'project': 'admin',
    'back': '/moves',
}


class LocalTest(console_case.ConsoleCase):
    def test_name_that_leads_here_from_elsewhere_is_refused(self) -> None:
        for host, status in (
            ('evil.example', 400),
            ('127.0.0.1.evil.example', 400),
            ('[::1]', 200),
            ('[::1]:6390', 200),
            ('127.0.0.2:6390', 200),
            ('LOCALHOST:6390', 200),
        ):
            answer = self.browser.get('/', base_url=f'http://{host}/')
            self.assertEqual(status, answer.status_code, host)

    def test_cookie_is_for_this_site_alone(self) -> None:
        self.page('/')
        cookie = self.answer.headers['Set-Cookie']
        self.assertIn('HttpOnly', cookie)
        self.assertIn('SameSite=Strict', cookie)

    def test_form_without_its_token_changes_nothing(self) -> None:
        path = f'/act/move/{world.uuid(1)}'
        form = {'service': 'new', 'reason': 'x', 'step': 'propose'}
        self.page(path, 403, method='POST', data=form)
        self.page('/')
        self.page(path, 403, method='POST', data=form)
        self.page(path, 403, method='POST', data={**form, 'csrf': 'é'})
        self.assertEqual(
            [], [one.path_url for one in self.sent if one.method == 'POST']
        )


class KeystoneTest(console_case.ConsoleCase):
    auth_url = 'http://keystone'

    def enter(self, status: int = 302, **more: str) -> str:
        return self.page(
            '/sign-in', status, method='POST', data={**_FORM, **more}
        )

    def test_first_page_leads_to_the_form_and_back(self) -> None:
        self.page('/moves?marker=x', 302)
        where = self.answer.headers['Location']
        self.assertEqual('/sign-in?back=/moves?marker%3Dx', where)
        self.assertIn('value="/moves?marker=x"', self.page(where))
        self.enter()
        self.assertEqual('/moves', self.answer.headers['Location'])

    def test_way_back_stays_on_this_site(self) -> None:
        for back in ('//evil.example', 'https://evil.example', '/\\evil', ''):
            self.enter(back=back)
            self.assertEqual('/', self.answer.headers['Location'])

    def test_token_stays_on_this_side(self) -> None:
        self.enter()
        cookie = self.answer.headers['Set-Cookie']
        for flag in ('Secure', 'HttpOnly', 'SameSite=Strict'):
            self.assertIn(flag, cookie)
        self.assertNotIn('the-token', cookie)
        self.use_cookie()
        self.assertNotIn('the-token', self.page('/'))
        self.assertEqual('the-token', self.sent[-1].headers['X-Auth-Token'])

    def use_cookie(self) -> None:
        """Send the cookie although this test has no TLS."""
        key = self.answer.headers['Set-Cookie'].partition(';')[0]
        name, _, value = key.partition('=')
        self.browser.set_cookie(name, value, domain='127.0.0.1')

    def test_form_of_another_site_does_not_sign_in(self) -> None:
        self.page(
            '/sign-in',
            403,
            method='POST',
            data=_FORM,
            headers={'Sec-Fetch-Site': 'cross-site'},
        )

    def test_session_ends_with_its_token(self) -> None:
        self.assertIn('is wrong', self.enter(401, password='wrong'))
        self.assertNotIn('Set-Cookie', self.answer.headers)
        self.enter()
        self.use_cookie()
        self.now += 599
        self.page('/')
        self.now += 1
        self.page('/', 302)
        # The service refuses the token.
        self.enter()
        self.use_cookie()
        self.instead = 401
        self.page('/', 302)
        where = self.answer.headers['Location']
        self.assertIn('does not accept the token', self.page(where))
        self.instead = 0
        self.page('/', 302)
        # The person signs out.
        self.enter()
        self.use_cookie()
        page = self.page('/')
        csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
        self.page('/sign-out', 302, method='POST', data={'csrf': csrf})
        self.page('/', 302)

    def test_part_of_a_page_leads_to_the_form_as_a_whole(self) -> None:
        self.page('/', headers={'HX-Request': 'true'})
        self.assertIn('/sign-in', self.answer.headers['HX-Redirect'])


class SignInTest(unittest.TestCase):
    def test_lifetime_of_a_token_is_by_the_clock_of_keystone(self) -> None:
        for year in (1990, 2090):
            times = {
                'issued_at': f'{year}-01-01T00:00:00.000000Z',
                'expires_at': f'{year}-01-01T00:10:00.000000Z',
            }
            found = access.AccessInfoV3({'token': times}, 'the-token')
            with mock.patch.object(
                keystone.v3.Password, 'get_access', return_value=found
            ):
                given = keystone.sign_in(
                    'http://keystone', user='ada', password='x', project=''
                )
            self.assertEqual(600, given.lifetime)
