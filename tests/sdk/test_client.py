"""The client towards a server that misbehaves as ours cannot be made to. Its dealings with ours: tests/flows."""

import ast
import json
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sdk.clearance_client import Client, Refused, Unreachable

Answer = tuple[int, Any]
TOKEN: Answer = (200, {"access_token": "t-1", "refresh_token": "r", "expires_in": 600})


class Peer:
    """An HTTP server that answers as told and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any, str]] = []
        self.answer: Callable[[str, str], Answer] = lambda method, path: (200, {})
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = json.loads(body) if body else None
                peer.asked.append((self.command, self.path, asked, self.headers.get("Authorization", "")))
                status, answer = peer.answer(self.command, self.path)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = _serve

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answers(self, *answers: Answer, token: Answer = TOKEN) -> None:
        queue = list(answers)
        self.answer = lambda method, path: token if path.endswith("/token") else queue.pop(0)

    def paths(self) -> list[str]:
        return [path for _, path, _, _ in self.asked]


@pytest.fixture
def peer() -> Iterator[Peer]:
    server = Peer()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def client(peer: Peer) -> Iterator[Client]:
    with Client(peer.url, client_id="agent", client_secret="secret", on_behalf_of="a@example.test") as made:
        yield made


def test_a_turn_is_opened_with_the_tools_that_were_chosen_or_with_all(peer: Peer, client: Client) -> None:
    peer.answers(*[(201, {"tools": []})] * 3, (202, {}), (200, {"turn": None}))
    client.open_turn("r/1", "msg-1", ["get_order"])
    client.open_turn("r/1", "msg-2", [])
    client.open_turn("r/1", "msg-3")
    client.call("r/1", "c1", "get_order", {}, turn="msg-3")
    bodies = [(path, body) for _, path, body, _ in peer.asked[1:]]
    assert bodies[:3] == [
        ("/api/v1/runs/r%2F1/turns", {"turn_id": "msg-1", "tools": ["get_order"]}),
        ("/api/v1/runs/r%2F1/turns", {"turn_id": "msg-2", "tools": []}),
        ("/api/v1/runs/r%2F1/turns", {"turn_id": "msg-3"}),
    ]
    assert bodies[3][1]["turn"] == "msg-3"
    assert client.turn("r/1") == {"turn": None}
    assert peer.asked[-1][:3] == ("GET", "/api/v1/runs/r%2F1/turns", None)


def test_the_secret_goes_to_the_token_address_once_and_nowhere_else(peer: Peer, client: Client) -> None:
    peer.answers((201, {"id": "r1"}), (200, {"id": "r1"}))
    client.open_run("A run")
    client.run("r1")
    identity = {"client_id": "agent", "client_secret": "secret", "on_behalf_of": "a@example.test"}
    assert peer.asked == [
        ("POST", "/api/v1/token", identity, ""),
        ("POST", "/api/v1/runs", {"title": "A run"}, "Bearer t-1"),
        ("GET", "/api/v1/runs/r1", None, "Bearer t-1"),
    ]


def test_a_token_that_is_about_to_end_is_renewed_before_it_is_used(peer: Peer, client: Client) -> None:
    short = (200, {"access_token": "t-1", "expires_in": 5})
    peer.answers((200, {}), (200, {}), token=short)
    client.run("r1")
    client.run("r1")
    assert peer.paths().count("/api/v1/token") == 2


def test_a_token_that_was_revoked_is_renewed_once_and_then_the_refusal_counts(peer: Peer, client: Client) -> None:
    revoked = (401, {"error": {"code": "SESSION_REVOKED", "message": "Show the secret again."}})
    peer.answers(revoked, (200, {"id": "r1"}), revoked, revoked)
    assert client.run("r1") == {"id": "r1"}
    with pytest.raises(Refused, match="Show the secret again"):
        client.run("r1")
    assert peer.paths().count("/api/v1/token") == 3


def test_a_refusal_carries_everything_that_a_model_can_use(peer: Peer, client: Client) -> None:
    error = {
        "code": "SCOPE_MISSING",
        "message": "This session lacks refunds:write.",
        "missing": ["refunds:write"],
        "retry_after": 3,
        "alternatives": ["get_order"],
        "outcome": "none",
        "retry_safe": True,
        "detail": {"tool": "refund_order"},
    }
    peer.answers((403, {"error": error, "call": {"state": "refused"}}))
    with pytest.raises(Refused) as caught:
        client.call("r1", "s1", "refund_order", {})
    refusal = caught.value
    assert (refusal.status, refusal.code, str(refusal)) == (403, "SCOPE_MISSING", "This session lacks refunds:write.")
    assert (refusal.missing, refusal.alternatives, refusal.retry_after) == (["refunds:write"], ["get_order"], 3.0)
    assert (refusal.outcome, refusal.retry_safe, refusal.detail) == ("none", True, {"tool": "refund_order"})
    assert refusal.call == {"state": "refused"}


@pytest.mark.parametrize(
    "answer",
    [(502, b"<html>Bad gateway</html>"), (200, b"<html>captive portal</html>"), (500, {"oops": 1}), (200, [1, 2])],
)
def test_what_is_no_answer_of_clearance_is_not_taken_for_one(peer: Peer, client: Client, answer: Answer) -> None:
    peer.answers(answer)
    with pytest.raises(Unreachable, match=f"HTTP {answer[0]}"):
        client.run("r1")


def test_a_server_that_is_away_is_unreachable() -> None:
    peer = Peer()
    peer.server.shutdown()
    peer.server.server_close()
    with Client(peer.url, client_id="agent", client_secret="secret") as client:
        with pytest.raises(Unreachable):
            client.open_run("A run")


def test_waiting_goes_on_until_the_call_is_final(peer: Peer, client: Client) -> None:
    rejected = {"state": "rejected", "final": True}
    peer.answers((202, {"state": "new", "final": False}), (202, {"state": "waiting", "final": False}), (200, rejected))
    assert client.wait_for_call("r1", "s1") == rejected
    assert peer.paths()[1:] == ["/api/v1/runs/r1/calls/s1?wait=30"] * 3


def test_waiting_ends_when_patience_does(peer: Peer, client: Client) -> None:
    unknown = {"state": "unknown", "final": False}
    peer.answer = lambda method, path: TOKEN if path.endswith("/token") else (202, unknown)
    assert client.wait_for_call("r1", "s1", seconds=0.05) == unknown


def test_names_from_outside_cannot_leave_their_place_in_the_address(peer: Peer, client: Client) -> None:
    peer.answers((200, {}))
    client.get_call("../../token", "a/b?c=1")
    assert peer.paths()[-1] == "/api/v1/runs/..%2F..%2Ftoken/calls/a%2Fb%3Fc%3D1"


def test_no_proxy_of_the_environment_sees_the_secret(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    peer.answers((200, {"id": "r1"}))
    with Client(peer.url, client_id="agent", client_secret="secret") as client:
        assert client.run("r1") == {"id": "r1"}


def test_the_client_imports_nothing_of_the_server() -> None:
    package = Path(__file__).resolve().parent.parent.parent / "sdk" / "clearance_client"
    imported = set()
    for file in package.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(str(node.module).split(".")[0])
    own = sys.stdlib_module_names | {"clearance_client"}
    # Beside httpx, the extras [verify] and [sign] have these; a client without them has all the rest.
    assert imported - own == {"httpx", "cryptography", "jwt", "rfc8785"}


def call_at(state: str, call_id: str = "refund", **more: Any) -> Answer:
    """A call as the server tells it."""
    final = state not in ("waiting", "ready", "new")
    return (200 if final else 202, {"call_id": call_id, "state": state, "final": final, **more})


EDITED = {"call_id": "refund~r2", "of": "refund", "by": "Ida", "changes": [{"path": "/amount", "from": 45, "to": 39}]}


def test_an_edited_call_is_followed_to_the_one_that_goes_on(peer, client):
    peer.answers(
        call_at("superseded", edited=EDITED),
        call_at("waiting", "refund~r2", edited=EDITED),
        call_at("succeeded", "refund~r2", edited=EDITED),
    )
    call = client.wait_for_call("run", "refund", seconds=5)
    assert (call["call_id"], call["state"], call["edited"]["by"]) == ("refund~r2", "succeeded", "Ida")
    assert [path.partition("?")[0].rpartition("/")[2] for path in peer.paths()[1:]] == [
        "refund", "refund~r2", "refund~r2",
    ]  # fmt: skip


def test_an_edited_call_is_told_as_it_ended_where_nobody_wants_to_follow(peer, client):
    peer.answers(call_at("superseded", edited=EDITED))
    assert client.wait_for_call("run", "refund", seconds=5, follow=False)["state"] == "superseded"


def test_a_question_is_answered_once_while_waiting(peer, client):
    question = {"id": "q1", "text": "Why?", "by": "Ida", "at": "2026-11-29T15:04:10Z"}
    peer.answers(
        call_at("waiting", question=question),
        call_at("waiting", question=None),  # the answer's own answer
        call_at("waiting", question=question),  # a reading from before it arrived
        call_at("succeeded"),
    )
    seen: list[str] = []

    def reply(asked: dict[str, Any]) -> str:
        seen.append(asked["text"])
        return "It broke."

    assert client.wait_for_call("run", "refund", seconds=5, on_question=reply)["state"] == "succeeded"
    assert seen == ["Why?"]
    [sent] = [asked for method, path, asked, _ in peer.asked if path.endswith("/answer")]
    assert sent == {"text": "It broke.", "question_id": "q1"}
