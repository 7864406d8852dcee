"""Redaction: E5, S71. Nothing secret is stored for reading, and the digest never notices."""

import json
import time

import pytest

from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.redact import HIDDEN, is_secret_name, redact, redact_for_audit, redact_secrets, redact_text

JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl"
PEM = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/note", {"note": HIDDEN, "to": [{"name": "A", "iban": "1"}, {"name": "B", "iban": "2"}]}),
        ("/to/0/iban", {"note": "n", "to": [{"name": "A", "iban": HIDDEN}, {"name": "B", "iban": "2"}]}),
        ("/to/*/iban", {"note": "n", "to": [{"name": "A", "iban": HIDDEN}, {"name": "B", "iban": HIDDEN}]}),
        ("/**/iban", {"note": "n", "to": [{"name": "A", "iban": HIDDEN}, {"name": "B", "iban": HIDDEN}]}),
        ("/*", {"note": HIDDEN, "to": HIDDEN}),
        ("/to", {"note": "n", "to": HIDDEN}),
        ("", HIDDEN),
        ("/**", HIDDEN),
        ("/absent/*/deep", {"note": "n", "to": [{"name": "A", "iban": "1"}, {"name": "B", "iban": "2"}]}),
        ("/note/below", {"note": "n", "to": [{"name": "A", "iban": "1"}, {"name": "B", "iban": "2"}]}),
    ],
)
def test_a_path_takes_out_exactly_what_it_names(path, expected):
    value = {"note": "n", "to": [{"name": "A", "iban": "1"}, {"name": "B", "iban": "2"}]}
    before = json.dumps(value)
    assert redact(value, [path]) == expected
    assert json.dumps(value) == before


def test_double_stars_reach_any_depth_and_may_stand_twice():
    value = {"a": {"b": [{"c": {"d": {"e": 1, "f": 2}}}]}, "e": 3}
    assert redact(value, ["/**/c/**/e"]) == {"a": {"b": [{"c": {"d": {"e": HIDDEN, "f": 2}}}]}, "e": 3}


def test_escaped_names_are_found():
    assert redact({"a/b": {"c~d": 1}}, ["/a~1b/c~0d"]) == {"a/b": {"c~d": HIDDEN}}


@pytest.mark.parametrize("path", ["note", "/a~", "/a~2"])
def test_a_path_that_is_no_pointer_is_an_error_and_not_a_silent_leak(path):
    with pytest.raises(ValueError):
        redact({"note": "n"}, [path])


@pytest.mark.parametrize(
    "name",
    ["apiKey", "api_key", "API-KEY", "APIKey", "x-api-key", "clientSecret", "client_secret", "CLIENTSECRET",
     "Authorization", "authorization", "Proxy-Authorization", "password", "userPassword", "dbPasswd", "accessToken",
     "refresh_token", "token", "Cookie", "set-cookie", "privateKey", "awsSecretAccessKey", "pin", "cardPin", "cvc",
     "CVV", "otp", "jwt", "credentials", "passphrase", "bearer", "connectionString"],
)  # fmt: skip
def test_names_of_secrets_are_known_in_every_spelling(name):
    assert is_secret_name(name)
    assert redact_secrets({name: "hunter2"}) == {name: HIDDEN}
    assert redact_secrets([{"x": [{name: {"deep": "hunter2"}}]}]) == [{"x": [{name: HIDDEN}]}]


@pytest.mark.parametrize(
    "name", ["shipping", "spinner", "amount", "currency", "order_id", "author", "keyboard", "monkey", "opinion", "key"]
)
def test_innocent_names_stay(name):
    assert redact_secrets({name: "plain"}) == {name: "plain"}


def test_a_name_that_counts_tokens_keeps_its_number_but_not_a_text():
    assert redact_secrets({"max_tokens": 800, "token": "abc", "pin": 1234, "hasPassword": True, "secret": None}) == {
        "max_tokens": 800,
        "token": HIDDEN,
        "pin": HIDDEN,
        "hasPassword": True,
        "secret": None,
    }


@pytest.mark.parametrize(
    "secret",
    ["sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc", "rk_test_" + "4eC39HqLyjWDarjt", "ghp_" + "A" * 36,
     "github_pat_" + "11ABCDEFG0123456789_abc", "AKIA" + "IOSFODNN7EXAMPLE", "ASIA" + "IOSFODNN7EXAMPLE", JWT, PEM,
     "xoxb-" + "123456789012-abcdefghij", "AIza" + "SyA1234567890abcdefghijklmnopq", "glpat-" + "abcdefghij0123456789",
     "sk-proj-" + "abcdefghijklmnop0123", "npm_" + "abcdefghij0123456789", "whsec_" + "abcdefghij0123"],
)  # fmt: skip
def test_known_token_shapes_are_taken_out_of_free_text_and_the_rest_stays(secret):
    text = f"before {secret} after"
    cleaned = redact_text(text)
    assert secret not in cleaned
    assert cleaned.startswith("before [redacted")
    assert cleaned.endswith("] after")
    assert redact_secrets({"note": [text]}) == {"note": [cleaned]}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ("curl -u x https://user:hunter22@example.test/a", "hunter22"),
        ("password=hunter22; next", "hunter22"),
        ('{"api_key": "hunter2222"}', "hunter2222"),
        ("clientSecret = 'hunter2222'", "hunter2222"),
    ],
)
def test_secrets_that_a_text_announces_are_taken_out(text, secret):
    assert secret not in redact_text(text)
    assert HIDDEN in redact_text(text)


@pytest.mark.parametrize(
    "text",
    ["Refund for ord_1029, damaged in transit", "see https://example.test/a:b@c", "basic information about it", ""],
)
def test_ordinary_sentences_stay_as_they_are(text):
    assert redact_text(text) == text


def test_an_unfinished_pem_block_is_hidden_to_its_last_character():
    assert "MC4CAQ" not in redact_text("-----BEGIN RSA PRIVATE KEY-----\nMC4CAQAwBQ")


def test_two_secrets_used_as_names_do_not_swallow_each_other():
    value = {"sk_live_" + "a" * 20: 1, "sk_live_" + "b" * 20: 2}
    cleaned = redact_secrets(value)
    assert sorted(cleaned.values()) == [1, 2]
    assert "aaaa" not in json.dumps(cleaned)


def test_the_digest_is_computed_from_what_was_not_redacted():
    value = {"order": "ord_1", "apiKey": "k", "note": f"use {JWT}"}
    digest = sha256_hex(canonical_bytes(value))
    redact_for_audit(value, ["/order"])
    assert sha256_hex(canonical_bytes(value)) == digest
    assert redact_for_audit(value, ["/order"]) == {"order": HIDDEN, "apiKey": HIDDEN, "note": "use [redacted: JWT]"}


@pytest.mark.parametrize(
    "text", ["-----BEGIN " * 50_000, "eyJ" * 200_000, "eyJaaaaaa." * 60_000, "a:" * 300_000, "://" * 200_000,
             "bearer " * 90_000, "password " * 70_000, "-" * 600_000, "sk-" * 200_000, "SG." * 200_000]
)  # fmt: skip
def test_no_text_makes_the_patterns_slow(text):
    start = time.perf_counter()
    redact_text(text)
    assert time.perf_counter() - start < 2
