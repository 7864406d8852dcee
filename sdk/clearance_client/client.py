"""The client of the JSON API. One object per agent; may be shared by threads as far as httpx allows it."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from .errors import Refused, Unreachable

# The server holds a long poll for this long at most (seconds); we ask again until our own patience is over.
LONGEST_POLL = 30.0
# A token is renewed this long before it ends (seconds), so that it cannot end on the way.
MARGIN = 30.0


class Client:
    """Every method raises `Refused` (the server said no) or `Unreachable` (no answer; repeating is safe)."""

    def __init__(
        self,
        base_url: str,
        *,
        client_id: str,
        client_secret: str,
        scopes: Sequence[str] | None = None,
        on_behalf_of: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """`scopes` None asks for everything the agent may have; `on_behalf_of` is a person's id or e-mail."""
        self._identity: dict[str, Any] = {"client_id": client_id, "client_secret": client_secret}
        if scopes is not None:
            self._identity["scopes"] = list(scopes)
        if on_behalf_of is not None:
            self._identity["on_behalf_of"] = on_behalf_of
        self._timeout = timeout
        # No proxy from the environment: the secret goes to the address given and nowhere else.
        self._http = httpx.Client(base_url=base_url.rstrip("/") + "/api/v1/", timeout=timeout, trust_env=False)
        self._lock = threading.Lock()
        self._token = ""
        self._valid_until = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # -- runs ----------------------------------------------------------------------------------------------------

    def open_run(self, title: str, **more: Any) -> dict[str, Any]:
        """A new run; its id is in `["id"]`. `more` goes into the request as it is, for example `client_ref`."""
        return self._request("POST", "runs", json={"title": title, **more})

    def run(self, run_id: str) -> dict[str, Any]:
        """Where a run stands."""
        return self._request("GET", f"runs/{quote(run_id, safe='')}")

    def open_turn(self, run_id: str, turn_id: str, tools: Sequence[str] | None = None) -> dict[str, Any]:
        """The next turn of your loop; its `["tools"]` are what to show the model. Repeat the same id to repeat safely.

        `tools` narrows them to these of the run's; None: all of the run's. Until the next turn no other may be called.
        """
        body: dict[str, Any] = {"turn_id": turn_id}
        if tools is not None:
            body["tools"] = list(tools)
        return self._request("POST", f"runs/{quote(run_id, safe='')}/turns", json=body)

    def turn(self, run_id: str) -> dict[str, Any]:
        """Which turn is open: `["turn"]` as `open_turn` gave it, or None; `["until"]` is its latest end. Opens none."""
        return self._request("GET", f"runs/{quote(run_id, safe='')}/turns")

    def complete(self, run_id: str) -> dict[str, Any]:
        """Says that the run is done. Refused while a call is open."""
        return self._request("POST", f"runs/{quote(run_id, safe='')}/complete", json={})

    def cancel(self, run_id: str, reason: str = "") -> dict[str, Any]:
        """Ends a run and withdraws what it still asks for."""
        return self._request("POST", f"runs/{quote(run_id, safe='')}/cancel", json=_with_reason(reason))

    def events(self, run_id: str, after: int = 0) -> dict[str, Any]:
        """The run's history after sequence `after`."""
        return self._request("GET", f"runs/{quote(run_id, safe='')}/events", params={"after": after})

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, run_id: str, call_id: str, tool: str, arguments: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Asks for one tool call. `call_id` is unique in the run and is the call's step: repeat it to repeat safely.
        `more` goes into the request as it is, for example `turn`, the id of the turn that the model asked in.

        Answers within some 2 s, as the call then stands: `final`, or `state` is `waiting` (people decide) or `new` (a
        worker has not judged it yet); then use `wait_for_call`. Raises `Refused` when it ended without a result.
        """
        body = {"call_id": call_id, "tool": tool, "arguments": dict(arguments), **more}
        return self._request("POST", f"runs/{quote(run_id, safe='')}/calls", json=body)

    def get_call(self, run_id: str, call_id: str, wait: float = 0.0) -> dict[str, Any]:
        """Where a call stands; waits up to `wait` seconds for news."""
        path = f"runs/{quote(run_id, safe='')}/calls/{quote(call_id, safe='')}"
        params = {"wait": f"{min(wait, LONGEST_POLL):g}"} if wait > 0 else None
        return self._request("GET", path, params=params, timeout=self._timeout + wait)

    def wait_for_call(
        self,
        run_id: str,
        call_id: str,
        seconds: float = 900.0,
        *,
        on_question: Callable[[dict[str, Any]], str] | None = None,
        follow: bool = True,
    ) -> dict[str, Any]:
        """Waits until the call is final, or `seconds` are over; answers it as it then stands, whatever its end.

        Where a person edited the call, the edited one goes on in its place and is waited for (`follow`): the answer's
        `call_id` is then another one, and its `edited` says who changed what. `on_question` is given what a person
        asks, `{id, text, by, at}`, once each, and returns the answer; without it a question stays unanswered, and is
        in the call's `question`.
        """
        until = time.monotonic() + seconds
        asked: set[str] = set()
        while True:
            left = until - time.monotonic()
            call = self.get_call(run_id, call_id, wait=max(0.0, min(left, LONGEST_POLL)))
            question, edited = call.get("question"), call.get("edited")
            if on_question is not None and question and question["id"] not in asked:
                asked.add(question["id"])
                self.answer(run_id, call_id, on_question(question), question_id=question["id"])
            elif follow and call["state"] == "superseded" and edited and edited["call_id"] != call_id:
                call_id = edited["call_id"]
            elif call["final"] or left <= 0:
                return call

    def answer(self, run_id: str, call_id: str, text: str, question_id: str | None = None) -> dict[str, Any]:
        """Answers what a person asks about a call that waits (its `question`). They see it as yours, unchecked."""
        path = f"runs/{quote(run_id, safe='')}/calls/{quote(call_id, safe='')}/answer"
        return self._request("POST", path, json={"text": text} | ({"question_id": question_id} if question_id else {}))

    def withdraw(self, run_id: str, call_id: str, reason: str = "") -> dict[str, Any]:
        """Takes a call back that was not sent yet."""
        path = f"runs/{quote(run_id, safe='')}/calls/{quote(call_id, safe='')}/withdraw"
        return self._request("POST", path, json=_with_reason(reason))

    # -- speaking ------------------------------------------------------------------------------------------------

    def token(self) -> str:
        """A session token that is valid for a while; asked for when there is none or it is about to end."""
        with self._lock:
            if time.monotonic() >= self._valid_until:
                answer = _answer(self._send("POST", "token", json=self._identity))
                self._token = str(answer["access_token"])
                self._valid_until = time.monotonic() + float(answer["expires_in"]) - MARGIN
            return self._token

    def _request(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        for attempt in (1, 2):
            response = self._send(method, path, headers={"Authorization": f"Bearer {self.token()}"}, **arguments)
            if response.status_code == 401 and attempt == 1:
                # Revoked, or the server's keys are new: one fresh token, then its word counts.
                self._valid_until = 0.0
                continue
            break
        return _answer(response)

    def _send(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **arguments)
        except httpx.HTTPError as error:
            raise Unreachable(f"The server did not answer: {error or type(error).__name__}.") from error


def _with_reason(reason: str) -> dict[str, str]:
    return {"reason": reason} if reason else {}


def _answer(response: httpx.Response) -> dict[str, Any]:
    """The body as an object; `Refused` for an error of the server, `Unreachable` for what is no answer of its own."""
    try:
        body = response.json() if response.content else {}
    except ValueError:
        body = None
    if not isinstance(body, dict) or (response.is_error and not isinstance(body.get("error"), dict)):
        raise Unreachable(f"Not an answer of Clearance (HTTP {response.status_code}): {response.text[:200]!r}")
    if response.is_error:
        raise Refused(response.status_code, body["error"], body.get("call"))
    return body
