"""What must be checked of a provider's word, point by point (OpenID Connect Core 1.0, 3.1.3.7)."""

from datetime import UTC, datetime, timedelta

import pytest

from access.core import oidc
from audit.core.refusal import Invalid, Unauthenticated

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ISSUER = "https://login.example.org/acme"
GOOD = {
    "iss": ISSUER,
    "aud": "client",
    "sub": "anna",
    "nonce": "n",
    "iat": int(NOW.timestamp()),
    "exp": int(NOW.timestamp()) + 300,
    "auth_time": int(NOW.timestamp()),
}
KEYS = [
    {"kty": "RSA", "kid": "r", "use": "sig"},
    {"kty": "EC", "crv": "P-256", "kid": "e", "alg": "ES256"},
    {"kty": "OKP", "crv": "Ed25519", "kid": "o"},
]


def subject(since=None, **changed):
    claims = {name: value for name, value in (GOOD | changed).items() if value is not ...}
    return oidc.check_claims(claims, issuer=ISSUER, client_id="client", nonce="n", now=NOW, signed_in_since=since)


def at(**apart):
    return (NOW + timedelta(**apart)).timestamp()


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"aud": ["client"]},
        {"aud": ["client", "another"], "azp": "client"},
        {"azp": "client"},
        {"exp": at(seconds=-59)},
        {"iat": at(seconds=60)},
        {"iat": at(minutes=-11)},
        {"nbf": at(seconds=60)},
    ],
)
def test_what_the_standard_allows_is_taken_with_a_minute_between_the_clocks(changed):
    assert subject(**changed) == "anna"


@pytest.mark.parametrize(
    ("because", "changed"),
    [
        ("iss", {"iss": ISSUER + "/"}),
        ("iss", {"iss": ...}),
        ("aud", {"aud": "another"}),
        ("aud", {"aud": []}),
        ("aud", {"aud": ...}),
        ("aud", {"aud": "client another"}),
        ("aud", {"aud": ["client", 7]}),
        ("azp", {"aud": ["client", "another"]}),
        ("azp", {"azp": "another"}),
        ("azp", {"azp": None}),
        ("exp", {"exp": at(seconds=-60)}),
        ("exp", {"exp": ...}),
        ("exp", {"exp": True}),
        ("exp", {"exp": str(int(at(minutes=5)))}),
        ("exp", {"exp": float("nan")}),
        ("exp", {"exp": 10**400}),
        ("exp", {"exp": 1e300}),
        ("iat", {"iat": at(seconds=61)}),
        ("iat", {"iat": at(minutes=-11, seconds=-1)}),
        ("iat", {"iat": ...}),
        ("nbf", {"nbf": at(seconds=61)}),
        ("nonce", {"nonce": "m"}),
        ("nonce", {"nonce": ...}),
        ("sub", {"sub": ...}),
        ("sub", {"sub": ""}),
        ("sub", {"sub": "a" * 256}),
        ("sub", {"sub": "ann\u0430"}),
        ("sub", {"sub": 7}),
    ],
)
def test_anything_else_is_refused_and_the_log_is_told_why(because, changed):
    with pytest.raises(Unauthenticated) as refused:
        subject(**changed)
    assert refused.value.code == "PROVIDER_TOKEN"
    assert refused.value.detail == {"because": because}


def test_a_nonce_that_was_never_made_is_not_matched_by_one_that_is_empty():
    with pytest.raises(Unauthenticated):
        oidc.check_claims(GOOD | {"nonce": ""}, issuer=ISSUER, client_id="client", nonce="", now=NOW)


def test_who_confirms_has_shown_the_provider_anew_who_they_are():
    assert subject(since=NOW - timedelta(minutes=2)) == "anna"
    for late in ({"auth_time": at(minutes=-3, seconds=-1)}, {"auth_time": ...}, {"auth_time": True}):
        with pytest.raises(Unauthenticated) as refused:
            subject(since=NOW - timedelta(minutes=2), **late)
        assert refused.value.detail == {"because": "auth_time"}


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "RS384", "PS256", "ES512", "", None, 7, ["RS256"]])
def test_no_other_way_of_signing_is_taken_whatever_the_header_says(algorithm):
    with pytest.raises(Unauthenticated) as refused:
        oidc.key_for(KEYS, {"alg": algorithm, "kid": "r"})
    assert refused.value.detail == {"because": "algorithm"}


@pytest.mark.parametrize(
    ("header", "kid"),
    [
        ({"alg": "RS256", "kid": "r"}, "r"),
        ({"alg": "ES256", "kid": "e"}, "e"),
        ({"alg": "EdDSA", "kid": "o"}, "o"),
        ({"alg": "RS256"}, "r"),
        ({"alg": "RS256", "kid": "e"}, None),
        ({"alg": "ES256", "kid": "unknown"}, None),
    ],
)
def test_a_key_is_of_the_kind_that_the_algorithm_has_and_the_one_that_is_named(header, kid):
    found = oidc.key_for(KEYS, header)
    assert (found and found["kid"]) == kid


def test_without_a_name_two_keys_of_a_kind_are_no_key_and_one_for_encryption_is_none():
    assert oidc.key_for([*KEYS, {"kty": "RSA", "kid": "s"}], {"alg": "RS256"}) is None
    assert oidc.usable_keys({"keys": [{"kty": "RSA", "use": "enc"}, {"kty": "oct", "k": "x"}, 7, KEYS[0]]}) == [KEYS[0]]
    assert oidc.key_for([{"kty": "RSA", "kid": "r", "alg": "RS512"}], {"alg": "RS256", "kid": "r"}) is None


SAID = {
    "issuer": ISSUER,
    "authorization_endpoint": ISSUER + "/authorize",
    "token_endpoint": ISSUER + "/token",
    "jwks_uri": ISSUER + "/keys",
}


def test_what_a_provider_says_of_itself_is_read():
    found = oidc.read_metadata(SAID, ISSUER, insecure=())
    assert (found.token_endpoint, found.by_header, found.names_itself) == (ISSUER + "/token", True, False)
    post = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert not oidc.read_metadata(SAID | post, ISSUER, insecure=()).by_header


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"issuer": ISSUER + "/"}, "letter by letter"),
        ({"issuer": None}, "letter by letter"),
        ({"token_endpoint": "http://login.example.org/token"}, "its token_endpoint is no https address"),
        ({"jwks_uri": "file:///etc/passwd"}, "its jwks_uri is no https address"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "its authorization_endpoint is no https address"),
        ({"authorization_endpoint": 7}, "its authorization_endpoint is no https address"),
        ({"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
        ({"id_token_signing_alg_values_supported": ["HS256", "none"]}, "RS256, ES256, EdDSA"),
        ({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, "neither by header nor by form"),
    ],
)
def test_what_is_wrong_with_a_provider_is_said_in_words(changed, words):
    with pytest.raises(Invalid) as refused:
        oidc.read_metadata(SAID | changed, ISSUER, insecure=())
    assert refused.value.code == "PROVIDER_METADATA"
    assert words in refused.value.message


@pytest.mark.parametrize("document", [None, [], "x", 7])
def test_no_object_is_no_description_and_no_key_set(document):
    with pytest.raises(Invalid):
        oidc.read_metadata(document, ISSUER, insecure=())
    with pytest.raises(Invalid):
        oidc.usable_keys(document)


@pytest.mark.parametrize(
    "text",
    ["", "http://login.example.org", "https://user@login.example.org", "https://login.example.org/?a=1", "login",
     "https://login.example.org/#x", "https://Login.example.org", "http://127.0.0.1:9", "https://a b"],
)  # fmt: skip
def test_an_issuer_is_a_plain_https_address(text):
    with pytest.raises(Invalid) as refused:
        oidc.issuer_of(text, insecure=())
    assert refused.value.code == "ISSUER_INVALID"


def test_only_this_very_machine_is_spoken_to_without_tls_and_only_where_it_is_allowed():
    assert oidc.issuer_of("http://127.0.0.1:9/acme", insecure=oidc.LOOPBACK) == "http://127.0.0.1:9/acme"
    with pytest.raises(Invalid):
        oidc.issuer_of("http://10.0.0.7/acme", insecure=oidc.LOOPBACK)


def test_domains_are_domains():
    assert oidc.domains_of(" Example.org,  acme.example ") == ["acme.example", "example.org"]
    for wrong in ("example", "@example.org", "exa mple.o_rg", "-a.org", "a..org"):
        with pytest.raises(Invalid):
            oidc.domains_of(wrong)


def test_a_providers_own_words_are_shown_only_as_a_short_code():
    assert oidc.short_code("access_denied") == "access_denied"
    for told in ("<b>", "A" * 61, "", None, 7, "a b"):
        assert oidc.short_code(told) == "unnamed"
