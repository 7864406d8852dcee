"""A mail server on a port of its own, in a thread: takes what is sent, or answers what a test wants it to."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any


class MailServer(socketserver.ThreadingTCPServer):
    """`mails` are those that were taken. `answers` maps a command (RCPT, DATA, …) to what is said instead of yes."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Talk)
        self.mails: list[EmailMessage] = []
        self.answers: dict[str, str] = {}

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


class _Talk(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server: Any = self.server
        self._say("220 test")
        while line := self.rfile.readline():
            command = line.decode("ascii", "replace").split(" ")[0].strip().upper()
            if command in server.answers:
                self._say(server.answers[command])
            elif command == "EHLO":
                self._say("250-test")
                self._say("250 8BITMIME")
            elif command == "DATA":
                self._say("354 go on")
                lines = []
                while (part := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(part.removeprefix(b".") if part.startswith(b"..") else part)
                server.mails.append(message_from_bytes(b"".join(lines), policy=policy.default))
                self._say("250 taken")
            elif command == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 yes")

    def _say(self, text: str) -> None:
        self.wfile.write(text.encode() + b"\r\n")


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """A running server."""
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(10)
