"""Sign-in to the console: real Keystone, HTTP service, Ironic and browser."""

from __future__ import annotations

import pathlib
import sys

from selenium.webdriver.common.by import By

from lab import process
from tests.functional.support import chromium
from tests.functional.test_api_keystone import _KeystoneCase


class SignInTest(_KeystoneCase):
    def setUp(self) -> None:
        super().setUp()
        self.driver = chromium.start()
        self.addCleanup(self.driver.quit)
        port = process.free_port()
        program = 'ironic-ownership-console'
        console = process.Process(
            [
                str(pathlib.Path(sys.executable).with_name(program)),
                *('--endpoint', self.api.url),
                *('--auth-url', self.keystone.url),
                *('--port', str(port)),
            ],
            self.lab.directory / 'console.log',
        ).start()
        self.addCleanup(console.stop)
        process.wait_for(lambda: process.answers_tcp(port), 'console')
        self.site = f'http://127.0.0.1:{port}'

    def sign_in(self, user: str, password: str = '', project: str = '') -> str:
        """Fill in the form; return the text of the page that follows."""
        self.driver.get(self.site)
        for name, text in (
            ('user', user),
            ('password', password or user),
            ('project', project),
        ):
            field = self.driver.find_element(By.NAME, name)
            field.clear()
            field.send_keys(text)
        form = self.driver.find_element(By.CSS_SELECTOR, '.signin')
        form.find_element(By.TAG_NAME, 'button').click()
        chromium.wait(
            self.driver,
            lambda: self.driver.find_elements(
                By.CSS_SELECTOR, '.who, [role=alert]'
            ),
            'the next page',
        )
        return self.text()

    def text(self) -> str:
        found: str = self.driver.execute_script(
            'return document.body.innerText'
        )
        return found

    def sign_out(self) -> None:
        self.driver.find_element(By.CSS_SELECTOR, '.who button').click()
        chromium.wait(
            self.driver, lambda: 'Password' in self.text(), 'the form'
        )

    def test_who_signs_in_has_the_rights_of_its_token(self) -> None:
        self.keystone.token('rita', system=True)  # makes the user
        self.keystone.token('mary')
        self.assertIn('is wrong', self.sign_in('rita', 'wrong'))
        # A reader sees all, and may move nothing.
        self.assertIn('Services', self.sign_in('rita'))
        self.assertEqual(
            '', self.driver.execute_script('return document.cookie')
        )
        (cookie,) = self.driver.get_cookies()
        self.assertTrue(cookie['secure'] and cookie['httpOnly'], cookie)
        self.driver.get(f'{self.site}/act/enable/new')
        self.assertIn('does not allow it', self.text())
        self.sign_out()
        self.driver.get(f'{self.site}/nodes')
        self.assertIn('Password', self.text())
        # A project of a customer has no rights at all.
        self.assertIn(
            'not allowed', self.sign_in('mary', project='admin').lower()
        )
        self.sign_out()
        self.sign_in('admin')
        self.driver.get(f'{self.site}/act/disable/new')
        self.driver.find_element(By.NAME, 'reason').send_keys('cables')
        self.driver.find_element(By.NAME, 'step').click()
        self.driver.find_element(By.CSS_SELECTOR, '[value=execute]').click()
        chromium.wait(
            self.driver, lambda: 'Disabled: cables' in self.text(), 'a result'
        )
        done = self.lab.run('event', 'list', '-f', 'value', '-c', 'actor')
        self.assertIn('@all', done.stdout)  # the id of admin
