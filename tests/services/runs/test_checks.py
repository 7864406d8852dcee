"""runs/checks.py: a wrong installation is told before it starts."""

from django.conf import settings
from django.test import override_settings

from runs import checks


def ids(messages):
    return [message.id for message in messages]


def test_a_right_installation_is_told_nothing():
    assert ids(checks.broker() + checks.pool() + checks.sweep_pace()) == []


def test_an_address_that_is_no_redis_server_is_an_error():
    with override_settings(REDIS_URL="amqp://guest@localhost"):
        assert ids(checks.broker()) == ["runs.E001"]


def test_eager_tasks_are_an_error():
    with override_settings(CELERY={**settings.CELERY, "task_always_eager": True}):
        [message] = checks.broker()
    assert (message.id, "inside requests" in message.msg) == ("runs.E002", True)


def test_a_pool_that_is_too_small_is_a_warning():
    before = settings.DATABASES["default"]["OPTIONS"]
    settings.DATABASES["default"]["OPTIONS"] = {"pool": {"max_size": 2}}
    try:
        assert ids(checks.pool()) == ["runs.W001"]
    finally:
        settings.DATABASES["default"]["OPTIONS"] = before


def test_a_missing_folder_of_tables_is_a_warning(tmp_path):
    with override_settings(REFERENCE_DIR=str(tmp_path / "not there")):
        assert ids(checks.reference_tables()) == ["runs.W002"]
    with override_settings(REFERENCE_DIR=str(tmp_path)):
        assert checks.reference_tables() == []


def test_a_sweep_that_hardly_ever_looks_is_an_error():
    for pace in (0, -1, 60):
        with override_settings(SWEEP_SECONDS=pace):
            assert ids(checks.sweep_pace()) == ["runs.E003"]


def test_every_message_says_what_to_do():
    with override_settings(REDIS_URL="x", SWEEP_SECONDS=0, REFERENCE_DIR="/nowhere"):
        for message in checks.broker() + checks.sweep_pace() + checks.reference_tables():
            assert message.hint
