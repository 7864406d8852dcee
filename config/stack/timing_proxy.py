"""A pass-through in front of the payment server that notes when each request arrives, and answers some of them itself
where it is told to. For `make smoke` and `make screenshots` only."""

import http.client
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Method, path with its query, body → the status to answer instead of passing the request on, or None.
type Instead = Callable[[str, str, bytes], int | None]

# Hop-by-hop: each side of the proxy speaks for itself.
NOT_PASSED_ON = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


class TimingProxy:
    """Listens on a free port of 127.0.0.1. `arrivals(method, path)` are in seconds since the epoch."""

    def __init__(self, target_port: Callable[[], int], instead: Instead = lambda *_: None) -> None:
        self._noted: list[tuple[str, str, float]] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # A small answer leaves at once instead of waiting for the acknowledgement of its headers.
            disable_nagle_algorithm = True

            def _pass_on(self) -> None:
                proxy._noted.append((self.command, self.path.partition("?")[0], time.time()))
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status = instead(self.command, self.path, body)
                if status is not None:
                    self._answer(status, [("Content-Type", "application/json")], b'{"error": {"type": "made_up"}}')
                    return
                headers = {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}
                target = http.client.HTTPConnection("127.0.0.1", target_port(), timeout=30)
                try:
                    target.request(self.command, self.path, body, headers)
                    answer = target.getresponse()
                    data = answer.read()
                finally:
                    target.close()
                self._answer(answer.status, answer.getheaders(), data)

            def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in NOT_PASSED_ON:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = _pass_on

            def log_message(self, *args: Any) -> None:
                """Silent: the summary is what a person reads."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def arrivals(self, method: str, path: str) -> list[float]:
        """When each request with that method and path came."""
        return [at for noted_method, noted_path, at in self._noted if (noted_method, noted_path) == (method, path)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
