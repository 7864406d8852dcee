"""CLEARANCE_EMAIL_URL: read once, loudly."""

import pytest

from config import env

SENDER = "Clearance <clearance@localhost>"


@pytest.fixture
def read(monkeypatch):
    """read(url) is what settings make of it."""
    for name in ("CLEARANCE_EMAIL_URL", "CLEARANCE_EMAIL_FROM", "CLEARANCE_EMAIL_PASSWORD_FILE"):
        monkeypatch.delenv(name, raising=False)

    def mail(url):
        monkeypatch.setenv("CLEARANCE_EMAIL_URL", url)
        return env.mail("CLEARANCE_EMAIL_URL", sender=SENDER)

    return mail


def test_unset_is_off_and_says_so(read):
    found = read("")
    assert (found.kind, found.sender) == ("off", SENDER)
    assert "CLEARANCE_EMAIL_URL" in found.words


@pytest.mark.parametrize(
    ("url", "port", "tls", "ssl", "user"),
    [
        ("smtp://mail.example.org", 25, False, False, ""),
        ("smtp+starttls://bot%40example.org@mail.example.org", 587, True, False, "bot@example.org"),
        ("smtps://bot:se%3Acret@mail.example.org:4465", 4465, False, True, "bot"),
    ],
)
def test_a_server_is_read_with_its_encryption(read, url, port, tls, ssl, user):
    options = read(url).mailer["OPTIONS"]
    assert (options["host"], options["port"], options["use_tls"], options["use_ssl"], options["username"]) == (
        "mail.example.org", port, tls, ssl, user,
    )  # fmt: skip
    assert options["timeout"] == 10


def test_no_words_and_no_repr_tell_the_password(read, monkeypatch, tmp_path):
    found = read("smtps://bot:hunter2@mail.example.org")
    assert found.mailer["OPTIONS"]["password"] == "hunter2"
    assert "hunter2" not in repr(found)
    assert found.words == "Mail goes to mail.example.org, port 465, with TLS, as bot."
    (tmp_path / "password").write_text("from-a-file\n")
    monkeypatch.setenv("CLEARANCE_EMAIL_PASSWORD_FILE", str(tmp_path / "password"))
    assert read("smtps://bot@mail.example.org").mailer["OPTIONS"]["password"] == "from-a-file"


def test_a_folder_and_the_log_take_mails_too(read, tmp_path):
    found = read(tmp_path.as_uri())
    assert (found.kind, found.mailer["OPTIONS"]) == ("file", {"file_path": str(tmp_path)})
    assert read("console:").kind == "console"


@pytest.mark.parametrize(
    "url",
    [
        "mail.example.org",
        "http://mail.example.org",
        "smtp://",
        "smtp://mail.example.org:0",
        "smtp://mail.example.org:99999",
        "smtp://mail.example.org:abc",
        "smtp://mail.example.org/path",
        "smtps://mail.example.org?tls=no",
        "file://host/folder",
        "file:relative",
        "console",
        "smtp://bot:hunter2@mail.example.org",
    ],
)
def test_nonsense_stops_the_start_with_a_sentence_and_without_the_password(read, url):
    with pytest.raises(env.EnvironmentProblem) as problem:
        read(url)
    assert "CLEARANCE_EMAIL_URL" in str(problem.value)
    assert "hunter2" not in str(problem.value)


@pytest.mark.parametrize("sender", ["nobody", "a@b.example\nBcc: all@example.org"])
def test_a_sender_that_is_no_address_stops_the_start(read, monkeypatch, sender):
    monkeypatch.setenv("CLEARANCE_EMAIL_FROM", sender)
    with pytest.raises(env.EnvironmentProblem, match="CLEARANCE_EMAIL_FROM"):
        env.mail("CLEARANCE_EMAIL_URL", sender=SENDER)
