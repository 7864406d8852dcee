"""A rule that was never seen to catch anything proves nothing: each is shown a violation in a tree of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture import test_code_rules as rules

PLANTED: list[tuple[Callable[..., None], str, str]] = [
    (rules.test_no_file_is_longer_than_four_hundred_lines, "runs/services/long.py", "\n" * 401),
    (rules.test_there_is_no_admin_door_around_the_services, "approvals/admin.py", ""),
    (rules.test_models_are_never_fetched_by_name, "approvals/web/x.py", "apps.get_model('runs', 'Run')"),
    (rules.test_relations_written_as_text_point_only_downward, "access/models/x.py", "ForeignKey('runs.Run')"),
    (
        rules.test_relations_written_as_text_point_only_downward,
        "audit/models/x.py",
        "models.ForeignKey(to='access.User')",
    ),
    (rules.test_audit_has_no_relation_to_anything, "audit/models/x.py", "ForeignKey('access.User')"),
    (rules.test_doors_never_touch_rows, "runs/web/x.py", "run.save()"),
    (rules.test_doors_never_touch_rows, "approvals/api/x.py", "Proposal.objects"),
    (rules.test_sql_names_no_table_of_another_app, "approvals/store/x.py", "SQL = 'SELECT 1 FROM access_user'"),
    (rules.test_sql_names_no_table_of_another_app, "audit/store/x.py", "SQL = f'UPDATE runs_run SET x = {n}'"),
    (rules.test_selectors_write_nothing, "runs/selectors/x.py", "rows.update(status='ready')"),
    (rules.test_only_the_gateway_of_processes_starts_processes, "runs/tools/x.py", "import subprocess"),
    (rules.test_every_boundary_is_held_apart_from_the_others, "runs/boundaries/browser.py", ""),
    (rules.test_doors_read_json_by_the_one_door, "runs/live/x.py", "json.loads(text)"),
    (rules.test_hints_leave_by_one_way_only, "runs/services/x.py", "wake.delay(run_id)"),
    (
        rules.test_public_services_take_keywords_only_and_an_actor_where_somebody_acts,
        "approvals/services/x.py",
        "def proposal_lose(*, proposal_id): ...",
    ),
    (
        rules.test_public_services_take_keywords_only_and_an_actor_where_somebody_acts,
        "approvals/services/x.py",
        "def proposal_lose(actor): ...",
    ),
    (rules.test_the_application_never_uses_celerys_delayed_delivery, "runs/live/x.py", "send(countdown=5)"),
    (rules.test_after_commit_hooks_never_break_the_answer, "runs/store/x.py", "transaction.on_commit(hint)"),
    (rules.test_templates_hold_no_inline_script_style_or_handler, "templates/x.html", '<p style="color: red">'),
    (rules.test_templates_hold_no_inline_script_style_or_handler, "templates/x.html", "{{ reason|safe }}"),
    (rules.test_no_address_of_another_host_is_loaded_by_a_page, "templates/x.html", '<img src="//cdn.test/x.png">'),
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project that breaks no rule: its contracts and settings, the boundaries, and nothing else."""
    for name in ("pyproject.toml", "config/settings/base.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((rules.ROOT / name).read_text())
    for boundary in (rules.ROOT / "runs/boundaries").glob("*.py"):
        (tmp_path / "runs/boundaries").mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs/boundaries" / boundary.name).write_text("")
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    rules.sources.cache_clear()
    yield tmp_path
    rules.sources.cache_clear()


@pytest.mark.parametrize(("rule", "file", "text"), PLANTED)
def test_a_planted_violation_is_caught(tree, rule, file, text):
    rule()
    (tree / file).parent.mkdir(parents=True, exist_ok=True)
    (tree / file).write_text(text)
    rules.sources.cache_clear()
    with pytest.raises(AssertionError):
        rule()
