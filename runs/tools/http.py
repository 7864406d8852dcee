"""One HTTP request to a target, and an honest word about what its end means.

`send` never raises for anything the network or the target does. It answers with one of three kinds (docs/boundaries.md,
*What an answer means*): `not_sent` (no byte left this process, so nothing can have happened), `answered` (a whole HTTP
answer arrived), `lost` (at least one byte may have left and no whole answer came back: the outcome is unknown).

The order is what makes `not_sent` provable: resolve, connect, TLS, build every byte of the request, call `before_send`
(the caller's last check of deadline and fence), then write. That is why this is a socket and h11, the parser that
httpx itself uses, and not an httpx client: there the request is written in pieces, a failed write is swallowed, a
read timeout starts anew with every byte that drips in, and debug logging prints the target's headers. Nothing here
reads the environment, keeps cookies, follows redirects, retries, or reuses a connection (a kept-alive connection that
the target has closed meanwhile would turn a request that never arrived into an unknown outcome).
"""

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote, urlencode

import h11

from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import BODY_LIMIT, Json
from audit.core.refusal import Refusal
from runs.tools.body import BadBody, BodyReader, open_answer, scrub
from runs.tools.connection import Clock, NotConnected, connect, split_url

RESPONSE_CAP_BYTES: Final = BODY_LIMIT
"""What an answer may weigh after decoding; the JSON door takes no more either."""
MIN_CREDENTIAL: Final = 8
"""A shorter credential could not be taken out of an echo without taking ordinary text with it."""
MAX_RETRY_AFTER: Final = 86_400
_READ_BYTES: Final = 65_536

type Kind = Literal["not_sent", "answered", "lost"]
type Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds; the total deadline bounds each as well. `read` is the longest silence between two pieces."""

    connect: float = 3.0
    write: float = 10.0
    read: float = 30.0


@dataclass(frozen=True, slots=True)
class OutboundRequest:
    """What goes out. Only these parts reach the target, nothing of the agent's own request does (S60).

    `url` is absolute and percent-encoded, without query, fragment or user information. The body is `form`, or `json`
    as RFC 8785 bytes when `has_json` (null is a body too), or nothing. `idempotency_key` becomes the Idempotency-Key
    header unless it is empty. `cap_bytes` bounds the answer's body, before and after decoding.
    """

    method: str
    url: str
    query: Pairs = ()
    form: Pairs | None = None
    json: Json = None
    has_json: bool = False
    idempotency_key: str = ""
    cap_bytes: int = RESPONSE_CAP_BYTES
    timeouts: Timeouts = field(default_factory=Timeouts)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came of one request.

    `structured`: the answer is whole and its JSON, accepted by the door, stands in `body` with the credential
    scrubbed; otherwise `code` and `message` say why not. `cut`: the body was longer than the cap and was dropped.
    `retry_after` in whole seconds, from the header of that name; no other header is kept. `received_bytes` counts
    the body as it came over the wire.
    """

    kind: Kind
    status: int = 0
    structured: bool = False
    body: Json = None
    cut: bool = False
    code: str = ""
    message: str = ""
    retry_after: int | None = None
    received_bytes: int = 0
    duration_ms: int = 0


class _Hidden:
    """Bytes that no traceback, log line or debugger page prints."""

    __slots__ = ("reveal",)

    def __init__(self, data: bytes) -> None:
        self.reveal = data

    def __repr__(self) -> str:
        return "<hidden>"


class _Failed(Exception):
    """A stage went wrong; `kind` says whether anything can have left. Caught in `send`, never seen outside."""

    def __init__(self, kind: Kind, code: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.answer_kind: Kind = kind
        self.code = code
        self.message = message
        self.retry_after = retry_after


@dataclass(slots=True)
class _Progress:
    """How many bytes of the request the kernel, or the TLS layer, may have taken."""

    bytes_gone: int = 0


def send(
    request: OutboundRequest,
    *,
    allowed_hosts: Sequence[str],
    deadline: float,
    credential: Callable[[], str] | None = None,
    before_send: Callable[[], None] | None = None,
    tls: ssl.SSLContext | None = None,
) -> HttpAnswer:
    """Send one request and read its answer, all before `deadline` (`time.monotonic()` seconds).

    `credential` is called once the connection stands; what it returns goes into the Authorization header as a bearer
    and is held nowhere else. `before_send` runs when everything is ready and no byte was written; if it raises an
    Exception nothing is sent, and a Refusal's code and message come back with `not_sent`. `tls` replaces the
    system's trust. Raises nothing but what is no Exception (KeyboardInterrupt, SystemExit).
    """
    clock = Clock(deadline)
    progress = _Progress()
    connection: socket.socket | None = None
    try:
        try:
            parts = split_url(request.url)
            connection = connect(
                parts, allowed_hosts=allowed_hosts, clock=clock, timeout=request.timeouts.connect, tls=tls
            )
            secret = _take(credential)
            parser = h11.Connection(our_role=h11.CLIENT)
            wire = _request_bytes(request, parts.netloc.lower(), parts.path or "/", secret, parser)
            _last_check(before_send, clock)
            _write(connection, wire, clock, request.timeouts.write, progress)
            return _read(connection, parser, request, clock, secret)
        finally:
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.close()
    except NotConnected as failed:
        return HttpAnswer("not_sent", code=failed.code, message=failed.message, duration_ms=clock.elapsed_ms())
    except _Failed as failed:
        return HttpAnswer(
            failed.answer_kind,
            code=failed.code,
            message=failed.message,
            retry_after=failed.retry_after,
            duration_ms=clock.elapsed_ms(),
        )
    except Exception as error:
        # A fault of our own may not hide whether the request left: after the first byte the outcome is unknown.
        return HttpAnswer(
            "lost" if progress.bytes_gone else "not_sent",
            code="ADAPTER_FAULT",
            message=f"The adapter failed ({type(error).__name__}). Tell whoever runs this server.",
            duration_ms=clock.elapsed_ms(),
        )


def _take(credential: Callable[[], str] | None) -> _Hidden:
    if credential is None:
        return _Hidden(b"")
    try:
        text = credential()
    except Exception as error:
        # The store's own words stay out: they may hold what was being decrypted.
        reason = error.code if isinstance(error, Refusal) else type(error).__name__
        raise _Failed(
            "not_sent", "CREDENTIAL_UNAVAILABLE", f"The tool's credential cannot be read ({reason}). Nothing was sent."
        ) from None
    if len(text) < MIN_CREDENTIAL or not text.isascii() or not text.isprintable() or " " in text:
        raise _Failed(
            "not_sent",
            "CREDENTIAL_UNUSABLE",
            f"The tool's credential is not a bearer token of at least {MIN_CREDENTIAL} printable characters. "
            "Nothing was sent; store it again.",
        )
    return _Hidden(text.encode("ascii"))


def _request_bytes(request: OutboundRequest, host: str, path: str, secret: _Hidden, parser: h11.Connection) -> _Hidden:
    """Every byte of the request, so that one write follows the last check."""
    headers: list[tuple[str, str]] = [
        ("Host", host),
        ("User-Agent", "Clearance"),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    if secret.reveal:
        headers.append(("Authorization", f"Bearer {secret.reveal.decode()}"))
    if request.idempotency_key:
        headers.append(("Idempotency-Key", request.idempotency_key))
    payload = b""
    if request.form is not None:
        payload = urlencode(request.form).encode("ascii")
        headers.append(("Content-Type", "application/x-www-form-urlencoded"))
    elif request.has_json:
        payload = canonical_bytes(request.json)
        headers.append(("Content-Type", "application/json"))
    if payload or request.method not in ("GET", "HEAD", "DELETE"):
        headers.append(("Content-Length", str(len(payload))))
    target = f"{path}?{urlencode(request.query)}" if request.query else path
    try:
        pieces = [parser.send(h11.Request(method=request.method, target=target, headers=headers))]
        if payload:
            pieces.append(parser.send(h11.Data(data=payload)))
        pieces.append(parser.send(h11.EndOfMessage()))
    except h11.LocalProtocolError:
        raise _Failed(
            "not_sent", "BAD_REQUEST", "The request cannot be written as HTTP (method, path or key). Nothing was sent."
        ) from None
    return _Hidden(b"".join(piece or b"" for piece in pieces))


def _last_check(before_send: Callable[[], None] | None, clock: Clock) -> None:
    if before_send is not None:
        try:
            before_send()
        except Refusal as refusal:
            raise _Failed("not_sent", refusal.code, refusal.message, retry_after=refusal.retry_after) from None
        except Exception as error:
            raise _Failed(
                "not_sent",
                "LAST_CHECK_FAILED",
                f"The last check before sending failed ({type(error).__name__}). Nothing was sent.",
            ) from None
    if time.monotonic() >= clock.deadline:
        raise _Failed("not_sent", "DEADLINE_PASSED", "The time for this call was over before it was sent.")


def _write(connection: socket.socket, wire: _Hidden, clock: Clock, phase: float, progress: _Progress) -> None:
    data = memoryview(wire.reveal)
    # What a TLS layer has passed on when it fails cannot be known; a plain socket counts what the kernel took.
    opaque = isinstance(connection, ssl.SSLSocket)
    try:
        while data:
            connection.settimeout(clock.left(phase))
            if opaque:
                progress.bytes_gone = len(wire.reveal)
            taken = connection.send(data)
            progress.bytes_gone += 0 if opaque else taken
            data = data[taken:]
    except OSError:
        if not progress.bytes_gone:
            raise _Failed("not_sent", "NOT_SENT", "The connection broke before the first byte was written.") from None
        raise _Failed(
            "lost",
            "CONNECTION_LOST",
            "The connection broke while the request was being written; what arrived is unknown.",
        ) from None


def _read(
    connection: socket.socket, parser: h11.Connection, request: OutboundRequest, clock: Clock, secret: _Hidden
) -> HttpAnswer:
    """The target's answer. Only a whole one with JSON is `structured`; what ends earlier leaves the outcome open."""
    status = received = 0
    retry_after: int | None = None
    kind: Kind = "lost"
    body: Json = None
    cut = False
    code = message = ""
    try:
        head = _head(connection, parser, clock, request.timeouts.read)
        status, kind = head.status_code, "answered"
        retry_after = _seconds(_header(head, b"retry-after"))
        if 300 <= status < 400:
            code, message = (
                "REDIRECT_REFUSED",
                "The target answered with another address; addresses are never followed.",
            )
        else:
            reader = BodyReader(_header(head, b"content-encoding").lower(), request.cap_bytes)
            while isinstance(event := _next_event(connection, parser, clock, request.timeouts.read), h11.Data):
                received += len(event.data)
                reader.feed(bytes(event.data))
            body = open_answer(reader.finish(), content_type=_header(head, b"content-type"), cap=request.cap_bytes)
    except BadBody as bad:
        code, message, cut = "ANSWER_TOO_LARGE" if bad.cut else "BAD_ANSWER", bad.message, bad.cut
    except TimeoutError:
        kind, code = "lost", "ANSWER_TIMEOUT"
        message = f"The target did not finish its answer within {clock.elapsed_ms():,} ms."
    except h11.RemoteProtocolError:
        # Its text repeats the offending bytes of the target, which may echo the credential.
        kind, code, message = "lost", "BAD_ANSWER", "What came back is not an HTTP answer."
    except OSError:
        kind, code, message = "lost", "CONNECTION_LOST", "The connection ended before the answer was complete."
    return HttpAnswer(
        kind,
        status=status,
        structured=not code,
        body=None if code else scrub(body, _forms_of(secret)),
        cut=cut,
        code=code,
        message=message,
        retry_after=retry_after,
        received_bytes=received,
        duration_ms=clock.elapsed_ms(),
    )


def _head(connection: socket.socket, parser: h11.Connection, clock: Clock, silence: float) -> h11.Response:
    while True:
        event = _next_event(connection, parser, clock, silence)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise ConnectionResetError


def _next_event(
    connection: socket.socket, parser: h11.Connection, clock: Clock, silence: float
) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
    """The next piece of the answer; TimeoutError, h11.RemoteProtocolError, or ConnectionResetError at an early end."""
    while True:
        event = parser.next_event()
        if event is not h11.NEED_DATA:
            return event
        connection.settimeout(clock.left(silence))
        data = connection.recv(_READ_BYTES)
        parser.receive_data(data)
        if not data:
            try:
                return parser.next_event()
            except h11.RemoteProtocolError:
                raise ConnectionResetError from None


def _header(head: h11.Response, name: bytes) -> str:
    """The value of a header; several of one name are joined, so that they match nothing that is expected."""
    return ", ".join(value.decode("latin-1") for key, value in head.headers if key == name)


def _seconds(text: str) -> int | None:
    return min(int(text), MAX_RETRY_AFTER) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _forms_of(secret: _Hidden) -> tuple[str, ...]:
    """The credential as it may come back: as it is, and percent-encoded in an echoed address."""
    text = secret.reveal.decode("ascii")
    return tuple(dict.fromkeys((text, quote(text, safe="")))) if text else ()
