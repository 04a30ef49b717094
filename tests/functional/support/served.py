"""The HTTP service over a fake Ironic, at a port."""

from __future__ import annotations

import logging
import threading
from typing import Any

from werkzeug import serving

from tests.unit.web import app_case


class ServedCase(app_case.SiteCase):
    """``old`` owns nodes 1 to 6 and is stopped, ``new`` is alive.

    :ivar api: the URL of the HTTP service.
    """

    options = 'auth_strategy = noauth\nmetrics_interval = 1000'

    def setUp(self) -> None:
        super().setUp()
        logging.getLogger('werkzeug').setLevel(logging.ERROR)
        self.api = self.serve(self.client.application)

    def serve(self, application: Any) -> str:
        server = serving.make_server(
            '127.0.0.1', 0, application, threaded=True
        )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f'http://127.0.0.1:{server.server_port}'
