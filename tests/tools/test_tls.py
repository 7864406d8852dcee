"""TLS to a target: the system's trust by default, and every failure of the handshake is before any effect."""

import datetime
import ipaddress
import ssl
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from runs.tools.http import HttpAnswer, OutboundRequest, Timeouts, send
from tests.support.target import Target


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PEM file with a key and a self-signed certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "target")])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "target.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def served(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def ask(target: Target, *, url: str = "", tls: ssl.SSLContext | None = None, connect: float = 2.0) -> HttpAnswer:
    return send(
        OutboundRequest("POST", url or f"{target.url}/v1/refunds", form=(), timeouts=Timeouts(connect=connect)),
        allowed_hosts=(target.host, f"localhost:{target.port}"),
        deadline=time.monotonic() + 5,
        credential=lambda: "sk_test_0123456789",
        tls=tls,
    )


def test_a_certificate_nobody_vouches_for_is_refused_before_the_credential_goes_out(certificate: Path) -> None:
    with Target(lambda visit: visit.answer_json({}), tls=served(certificate)) as target:
        answer = ask(target)
        visits = target.settled()
    assert (answer.kind, answer.code) == ("not_sent", "TLS_FAILED")
    assert "self-signed" in answer.message
    assert [bytes(visit.raw) for visit in visits] == [b""]


def test_a_trusted_certificate_for_another_name_is_refused(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Target(lambda visit: visit.answer_json({}), tls=served(certificate)) as target:
        answer = ask(target, url=f"https://localhost:{target.port}/v1/refunds", tls=trusting)
        assert b"".join(bytes(visit.raw) for visit in target.settled()) == b""
    assert (answer.kind, answer.code) == ("not_sent", "TLS_FAILED")


def test_with_trust_the_request_arrives_and_is_answered(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Target(lambda visit: visit.answer_json({"id": "re_1"}), tls=served(certificate)) as target:
        answer = ask(target, tls=trusting)
        [visit] = target.settled()
    assert answer.body == {"id": "re_1"}
    assert visit.headers["authorization"] == "Bearer sk_test_0123456789"


def test_over_tls_a_target_that_closes_after_reading_is_unknown(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    with Target(lambda visit: visit.connection.close(), tls=served(certificate)) as target:
        answer = ask(target, tls=trusting)
    assert (answer.kind, answer.code) == ("lost", "CONNECTION_LOST")


def test_a_plain_server_behind_an_https_address_is_before_any_effect() -> None:
    with Target(lambda visit: visit.answer(b"HTTP please")) as target:
        answer = ask(target, url=f"https://{target.host}/v1/refunds", connect=0.5)
    assert (answer.kind, answer.code) == ("not_sent", "TLS_FAILED")


def test_a_handshake_that_never_ends_is_ended_by_the_connect_timeout() -> None:
    with Target(lambda visit: time.sleep(1), read_first=False) as target:
        answer = ask(target, url=f"https://{target.host}/v1/refunds", connect=0.3)
    assert (answer.kind, answer.code) == ("not_sent", "TLS_FAILED")
    assert answer.duration_ms < 900
