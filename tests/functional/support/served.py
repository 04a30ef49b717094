"""The HTTP service over a fake Ironic, at a port."""

from __future__ import annotations

from tests.unit.web import app_case


class ServedCase(app_case.SiteCase):
    """``old`` owns nodes 1 to 6 and is stopped, ``new`` is alive.

    :ivar api: the URL of the HTTP service.
    """

    options = 'auth_strategy = noauth\nmetrics_interval = 1000'

    def setUp(self) -> None:
        super().setUp()
        self.api = self.serve(self.client.application)
