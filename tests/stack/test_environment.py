"""The environment of the children: what the caller decides, what never leaks in."""

import subprocess
from pathlib import Path

import pytest

from config.stack.environment import Layout, compose, outside_servers, write_environment
from config.stack.process import StackError
from config.stack.secrets import ensure_secrets
from tests.stack.support import mode

DATABASE = ("postgresql://clr_app:a@/clearance?host=/s", "postgresql://clr_owner:o@/clearance?host=/s")


def composed(tmp_path: Path, **caller: str) -> dict[str, str]:
    return compose(
        layout=Layout(tmp_path),
        secrets=ensure_secrets(tmp_path / "secrets"),
        database=DATABASE,
        redis="redis://:p@127.0.0.1:1/0",
        port=8123,
        payments_url="http://127.0.0.1:2",
        caller=caller,
    )


def test_every_variable_that_the_settings_need_is_there(tmp_path: Path) -> None:
    found = composed(tmp_path)
    assert (found["DATABASE_URL"], found["DATABASE_OWNER_URL"]) == DATABASE
    assert found["CLEARANCE_BASE_URL"] == "http://localhost:8123"
    assert found["DJANGO_SETTINGS_MODULE"] == "config.settings.demo"
    for name in ("CLEARANCE_SECRET_KEY_FILE", "CLEARANCE_CREDENTIAL_KEY_FILE", "CLEARANCE_TOKEN_KEYS_DIR"):
        assert Path(found[name]).exists()


def test_what_the_caller_sets_for_clearance_wins(tmp_path: Path) -> None:
    assert composed(tmp_path, CLEARANCE_BASE_URL="http://example.test")["CLEARANCE_BASE_URL"] == "http://example.test"


@pytest.mark.parametrize("name", ["PGHOST", "PYTHONPATH", "CELERY_BROKER_URL", "HTTP_PROXY", "AWS_SECRET_ACCESS_KEY"])
def test_nothing_else_of_the_caller_reaches_the_children(tmp_path: Path, name: str) -> None:
    assert name not in composed(tmp_path, **{name: "stray"})


def test_both_database_addresses_of_the_caller_are_used() -> None:
    caller = {"DATABASE_URL": DATABASE[0], "DATABASE_OWNER_URL": DATABASE[1], "REDIS_URL": "redis://h/0"}
    assert outside_servers(caller) == (DATABASE, "redis://h/0")
    assert outside_servers({}) == (None, None)


@pytest.mark.parametrize(
    ("present", "absent"), [("DATABASE_URL", "DATABASE_OWNER_URL"), ("DATABASE_OWNER_URL", "DATABASE_URL")]
)
def test_half_a_pair_of_database_addresses_is_refused_with_the_remedy(present: str, absent: str) -> None:
    with pytest.raises(StackError, match=f"{present} is set and {absent} is not. Set both"):
        outside_servers({present: DATABASE[0]})


def test_a_second_terminal_can_read_the_environment(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "with space")
    environment = composed(tmp_path / "with space") | {"CLEARANCE_NOTE": "it's $HOME"}
    write_environment(layout, environment)
    assert mode(layout.environment_file) == "0o600"
    shown = subprocess.run(
        ["sh", "-c", f". '{layout.environment_file}'; printf '%s|%s' \"$CLEARANCE_NOTE\" \"$DATABASE_URL\""],
        capture_output=True,
        text=True,
        check=True,
        env={},
    ).stdout
    assert shown == f"it's $HOME|{DATABASE[0]}"
