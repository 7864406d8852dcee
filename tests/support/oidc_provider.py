"""An OpenID provider on loopback: real HTTP, real keys, PKCE and single-use codes checked, and every lie it can tell.

Written against OpenID Connect Core 1.0 and RFC 7636, and knows nothing of Clearance. A test says who is signed in there
(`subject`) and what goes wrong (`claims`, `sign`, `answer`); everything else is as the standard says.
"""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

CLIENT, SECRET = "clearance-of-acme", "a secret: 100% + more"
SUBJECTS = ("anna-at-the-provider", "bela-at-the-provider")


@cache
def key_of(algorithm: str) -> Any:
    """A private key; made once, RSA takes a while."""
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def public_jwk(algorithm: str, key: Any, kid: str) -> dict[str, Any]:
    """Its public half as a provider shows it."""
    kind: Any = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}[algorithm]
    return json.loads(kind.to_jwk(key.public_key())) | {"kid": kid, "alg": algorithm, "use": "sig"}


@dataclass
class Provider:
    """The server. `asked` is what browsers and Clearance sent: (method, path, parameters)."""

    subject: str = SUBJECTS[0]
    algorithm: str = "ES256"
    kid: str = "one"
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    claims: Callable[[dict[str, Any]], dict[str, Any]] = dict
    sign: Callable[[dict[str, Any]], str] | None = None
    says: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    down: bool = False
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    form: bool = False
    """A page with a button stands where a browser arrives, as at a real provider; else it goes back at once."""

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.get(self)

            def do_POST(self) -> None:
                provider.post(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}/acme"
        self.show(self.algorithm, self.kid)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.shutdown()
        self.server.server_close()

    def show(self, algorithm: str, kid: str) -> None:
        """Sign with this kind of key from now on, and show it."""
        self.algorithm, self.kid = algorithm, kid
        self.shown[kid] = public_jwk(algorithm, key_of(algorithm), kid)

    def metadata(self) -> dict[str, Any]:
        """What it says of itself."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize?tenant=acme",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA"],
            "authorization_response_iss_parameter_supported": True,
        } | self.says

    def authorize(self, address: str) -> str:
        """A browser arrives at `address`, the person agrees (or not); where it is sent back to."""
        asked = dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))
        assert asked["response_type"] == "code"
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        back = {"state": asked["state"], "iss": self.issuer}
        if self.error:
            back |= {"error": self.error, "error_description": "<b>told by the provider</b>"}
        else:
            back["code"] = secrets.token_urlsafe(24)
            self.codes[back["code"]] = asked | {"auth_time": str(int(time.time()))}
        return f"{asked['redirect_uri']}?{urlencode(back)}"

    def token(self, code: dict[str, str]) -> str:
        """The ID token for what was asked."""
        now = int(time.time())
        claims = {"iss": self.issuer, "sub": self.subject, "aud": CLIENT, "iat": now, "exp": now + 300}
        claims |= {"nonce": code["nonce"], "auth_time": int(code["auth_time"])}
        claims = self.claims(claims)
        return self.sign(claims) if self.sign else self.signed(claims)

    def signed(self, claims: dict[str, Any], **header: Any) -> str:
        """Signed with the key of now."""
        return jwt.encode(claims, key_of(self.algorithm), self.algorithm, headers={"kid": self.kid, **header})

    def get(self, visit: BaseHTTPRequestHandler) -> None:
        path, sent = urlsplit(visit.path).path, dict(parse_qsl(urlsplit(visit.path).query))
        self.asked.append(("GET", path, sent))
        if self.down:
            return _answer(visit, 503, {})
        if path == "/acme/.well-known/openid-configuration":
            return _answer(visit, 200, self.metadata())
        if path == "/acme/keys":
            return _answer(visit, 200, {"keys": list(self.shown.values())})
        if path == "/acme/authorize" and self.form:
            back = self.authorize(visit.path).replace("&", "&amp;")
            page = f'<!doctype html><title>Provider</title><a id="agree" href="{back}">I am {self.subject}</a>'
            return _answer(visit, 200, page)
        if path == "/acme/authorize":
            return _answer(visit, 302, {}, location=self.authorize(visit.path))
        return _answer(visit, 404, {})

    def post(self, visit: BaseHTTPRequestHandler) -> None:
        sent = dict(parse_qsl(visit.rfile.read(int(visit.headers["content-length"])).decode()))
        self.asked.append(("POST", visit.path, sent))
        kind, _, pair = visit.headers.get("authorization", "").partition(" ")
        by_header = base64.b64decode(pair).decode().split(":") if kind == "Basic" else ["", ""]
        shown = (
            [unquote_plus(part) for part in by_header] if kind else [sent.get("client_id"), sent.get("client_secret")]
        )
        code = self.codes.pop(sent.get("code", ""), None)
        if self.down:
            return _answer(visit, 503, {})
        if shown != [CLIENT, SECRET]:
            return _answer(visit, 401, {"error": "invalid_client"})
        digest = hashlib.sha256(sent["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if code is None or code["redirect_uri"] != sent["redirect_uri"] or code["code_challenge"] != challenge:
            return _answer(visit, 400, {"error": "invalid_grant"})
        return _answer(
            visit,
            200,
            {"access_token": "at-" + secrets.token_hex(8), "token_type": "Bearer", "id_token": self.token(code)},
        )


def _answer(visit: BaseHTTPRequestHandler, status: int, body: dict[str, Any] | str, location: str = "") -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    visit.send_response(status)
    visit.send_header("content-type", "text/html" if isinstance(body, str) else "application/json")
    visit.send_header("content-length", str(len(data)))
    if location:
        visit.send_header("location", location)
    visit.end_headers()
    visit.wfile.write(data)
