"""A local HTTP server whose services fail on purpose, and a client for it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ServiceError(Exception):
    """A service answered with an error."""


class FlakyServer:
    """Answers GET /NAME, and fails as often as `failures` says.

    Attributes:
        failures: Failure rate of each service; may be changed at any time.
    """

    def __init__(self, failures: dict[str, float], seed: int) -> None:
        self.failures, self._random = dict(failures), random.Random(seed)
        handler = type("Handler", (_Handler,), {"flaky": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def status(self, path: str) -> int:
        name = path.strip("/")
        if name not in self.failures:
            return 404
        return 503 if self._random.random() < self.failures[name] else 200

    def __enter__(self) -> FlakyServer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    flaky: FlakyServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.send_response(self.flaky.status(self.path))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The client counts; the server is silent."""


class Client:
    """Keeps one connection to the server; an error of a service is an exception."""

    def __init__(self, port: int) -> None:
        self.connection, self.requests = HTTPConnection("127.0.0.1", port, timeout=5), 0

    def get(self, name: str) -> None:
        self.requests += 1
        self.connection.request("GET", f"/{name}")
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise ServiceError(f"{name}: {answer.status}")


@contextmanager
def flaky_client(failures: dict[str, float], seed: int) -> Iterator[tuple[FlakyServer, Client]]:
    """A server in a thread of its own and a client that is connected to it."""
    with FlakyServer(failures, seed) as server:
        client = Client(server.port)
        try:
            yield server, client
        finally:
            client.connection.close()
