"""A reviewer at a browser, in code: signs in, watches the live pages, decides. For `make smoke`; knows HTTP only."""

import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any, Self

import httpx
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from config.stack.process import StackError


class Page:
    """A live page that is open. A thread of its own stamps each push with the instant at which it came."""

    def __init__(self, socket: ClientConnection, hello: dict[str, Any]) -> None:
        self._socket = socket
        self._pushes: list[tuple[float, str]] = []
        self._news = threading.Condition()
        self._open = True
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        socket.send(json.dumps(hello))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._reader.join(10)

    def _read(self) -> None:
        try:
            for push in self._socket:
                with self._news:
                    self._pushes.append((time.time(), str(push)))
                    self._news.notify_all()
        except WebSocketException:
            pass
        finally:
            with self._news:
                self._open = False
                self._news.notify_all()

    def wait_for(self, wanted: Callable[[str], bool], seconds: float) -> float:
        """When (seconds since the epoch) the first push came that `wanted` accepts. Raises StackError."""
        with self._news:
            self._news.wait_for(lambda: not self._open or any(wanted(push) for _, push in self._pushes), seconds)
            for at, push in self._pushes:
                if wanted(push):
                    return at
        why = f"was not told within {seconds:g} s" if self._open else "was closed by the server"
        raise StackError(f"The live page {why}.")


class Reviewer:
    """One signed-in person. `address` is http://localhost:<port>. Raises StackError for what a person would notice."""

    def __init__(self, address: str, email: str, password: str) -> None:
        self.address = address
        self.http = httpx.Client(base_url=address, follow_redirects=True, timeout=20, trust_env=False)
        token = _field(self.get("/sign-in/"), "csrfmiddlewaretoken")
        form = {"username": email, "password": password, "csrfmiddlewaretoken": token}
        answer = self.http.post("/sign-in/", data=form, headers={"Referer": address + "/sign-in/"})
        if answer.status_code != 200 or answer.url.path.startswith("/sign-in"):
            raise StackError(f"{email} could not sign in (HTTP {answer.status_code}).")

    def get(self, path: str) -> str:
        """A page's HTML."""
        answer = self.http.get(path)
        if answer.status_code != 200:
            raise StackError(f"The page {path} answered HTTP {answer.status_code}.")
        return answer.text

    def open_inbox(self) -> Page:
        """The inbox with its socket; it says that it has no row yet and is told what comes."""
        html = self.get("/")
        hello = {"view": data_of(html, "view"), "q": "", "since": data_of(html, "now"), "rows": {}}
        return Page(self._socket("/ws/inbox/"), hello)

    def open_run(self, run_id: str) -> Page:
        """A run's page with its socket, from the last event that the page holds."""
        return Page(self._socket(f"/ws/runs/{run_id}/"), {"after": int(data_of(self.get(f"/runs/{run_id}/"), "last"))})

    def decide(self, proposal_id: str, verdict: str, digest: str, reason: str = "") -> dict[str, Any]:
        """The click. `digest` is what the page showed."""
        answer = self.http.post(
            f"/api/v1/proposals/{proposal_id}/decide",
            json={"verdict": verdict, "digest": digest, "reason": reason},
            headers={"X-CSRFToken": self.http.cookies["csrftoken"], "Referer": self.address + "/"},
        )
        if answer.is_error:
            raise StackError(f"The decision was refused (HTTP {answer.status_code}): {answer.text}")
        return dict(answer.json())

    def _socket(self, path: str) -> ClientConnection:
        cookies = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        return connect(
            self.address.replace("http", "ws", 1) + path,
            additional_headers={"Cookie": cookies},
            origin=Origin(self.address),
            proxy=None,
            open_timeout=20,
        )


def _field(html: str, name: str) -> str:
    """The value of a hidden field."""
    return _one(rf'name="{name}"\s+value="([^"]+)"', html, f"the field {name}")


def data_of(html: str, name: str) -> str:
    """The value of the first attribute data-<name> of a page."""
    return _one(rf'data-{name}="([^"]*)"', html, f"data-{name}")


def _one(pattern: str, html: str, what: str) -> str:
    found = re.search(pattern, html)
    if found is None:
        raise StackError(f"The page does not hold {what}.")
    return found.group(1)
