"""Rules of architecture.md that imports cannot show. Each is checked against the parsed source of the whole tree."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("audit", "access", "approvals", "runs")
CODE = (*APPS, "config", "sdk")
CALLERS = ("web", "api", "live", "management", "templatetags")
LONGEST_FILE = 400
# Written by ourselves a moment before: the contract's own schema, a recorded event, the demo's data.
OUR_OWN_JSON = ("approvals/core/schemas/__init__.py", "runs/core/events.py", "config/management/commands/demo.py")


@cache
def sources(*tops: str) -> tuple[tuple[Path, ast.Module], ...]:
    return tuple(
        (path.relative_to(ROOT), ast.parse(path.read_text(), str(path)))
        for top in tops
        for path in sorted((ROOT / top).rglob("*.py"))
    )


def floor(path: Path) -> str:
    """`services` of approvals/services/decision.py, `tasks` of runs/tasks.py."""
    return path.parts[1].removesuffix(".py") if len(path.parts) > 1 else ""


def calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def test_no_file_is_longer_than_four_hundred_lines():
    long = {
        str(path.relative_to(ROOT)): count
        for top in (*CODE, "tests")
        for path in (ROOT / top).rglob("*.py")
        if (count := path.read_text().count("\n")) > LONGEST_FILE
    }
    assert not long


def test_there_is_no_admin_door_around_the_services():
    assert [path for path, _ in sources(*CODE) if path.name == "admin.py"] == []
    assert "django.contrib.admin" not in (ROOT / "config/settings/base.py").read_text()


def test_models_are_never_fetched_by_name():
    """`apps.get_model("runs", …)` slips past the import contracts."""
    offenders = [
        f"{path}:{call.lineno}"
        for path, tree in sources(*CODE)
        if "migrations" not in path.parts
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("get_model", "get_models")
    ]
    assert offenders == []


def test_relations_written_as_text_point_only_downward():
    order = {app: level for level, app in enumerate(APPS)}
    offenders = []
    for path, tree in sources(*APPS):
        if floor(path) != "models":
            continue
        for call in calls(tree):
            kind = getattr(call.func, "attr", getattr(call.func, "id", ""))
            named = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "to")]
            if kind in ("ForeignKey", "OneToOneField", "ManyToManyField"):
                for target in named:
                    if isinstance(target, ast.Constant) and "." in str(target.value):
                        app = str(target.value).split(".")[0]
                        if order.get(app, 0) > order[path.parts[0]] or app not in order:
                            offenders.append(f"{path}:{call.lineno} {target.value}")
    assert offenders == []


def test_audit_has_no_relation_to_anything():
    text = "".join(path.read_text() for path in (ROOT / "audit/models").glob("*.py"))
    assert not re.search(r"ForeignKey|OneToOne|ManyToMany", text)


def test_doors_never_touch_rows():
    """web, api, live, tasks and management call services and selectors; `.save()` and `.objects` are not theirs."""
    offenders = []
    for path, tree in sources(*APPS, "config"):
        if floor(path) not in (*CALLERS, "tasks", "receivers", "checks") or path.parts[1] == "stack":
            continue
        offenders += [
            f"{path}:{node.lineno} .{node.attr}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in ("objects", "_default_manager", "save", "bulk_create")
        ]
    assert offenders == []


def foreign_tables(app: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, table) of SQL in `app` that names a table of another one. A word of a sentence is no table."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for found in re.finditer(r"\b(?:FROM|JOIN|UPDATE|INTO|TABLE)\s+(([a-z]+)_[a-z_]+)", node.value):
                if found[2] in APPS and found[2] != app:
                    yield node.lineno, found[1]


def test_sql_names_no_table_of_another_app():
    """Upward it would go round the import contracts, downward round the selectors: who owns a table may change it."""
    offenders = [
        f"{path}:{line} {table}"
        for path, tree in sources(*APPS)
        if "migrations" not in path.parts
        for line, table in foreign_tables(path.parts[0], tree)
    ]
    assert offenders == []


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT 1 FROM runs_call c JOIN access_user u ON true", ["runs_call", "access_user"]),
        ("UPDATE approvals_permit p SET status = 'void' FROM approvals_proposal q", []),
        ("INSERT INTO audit_entry DEFAULT VALUES", ["audit_entry"]),
        ("SELECT clearance_now() FROM generate_series(1, 2)", []),
    ],
)
def test_a_foreign_table_in_sql_is_caught(sql, found):
    assert [table for _, table in foreign_tables("approvals", ast.parse(f"x = f{sql!r}"))] == found


def test_selectors_write_nothing():
    writing = {"save", "update", "delete", "create", "bulk_create", "bulk_update", "get_or_create", "update_or_create"}
    offenders = [
        f"{path}:{call.lineno} .{call.func.attr}()"
        for path, tree in sources(*APPS)
        if floor(path) == "selectors"
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in writing
        and not (isinstance(call.func.value, ast.Name) and call.func.value.id in ("found", "hasher", "result", "seen"))
    ]
    assert offenders == []


def test_only_the_gateway_of_processes_starts_processes():
    """Only the sandbox (and the launcher, which is no part of the running product) starts a process."""
    offenders = [
        str(path)
        for path, tree in sources(*APPS)
        if "sandbox" not in path.parts and path.stem != "sandbox"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Import) and any(a.name.split(".")[0] == "subprocess" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "subprocess")
    ]
    assert offenders == []


def test_every_boundary_is_held_apart_from_the_others():
    """The import contract names them one by one, because runs.boundaries.backend is what they share."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [apart] = [each["modules"] for each in contracts if each["type"] == "independence"]
    there = {path.stem for path in (ROOT / "runs/boundaries").glob("*.py")} - {"__init__", "backend"}
    assert {f"runs.boundaries.{name}" for name in there} == set(apart)


def test_doors_read_json_by_the_one_door():
    """Data rule 13: another reader would take what the door refuses (two members of one name, numbers that change)."""
    offenders = [
        f"{path}:{call.lineno}"
        for path, tree in sources(*APPS, "config")
        if floor(path) in ("web", "api", "live", "management", "tools", "core") or path.parts[:2] == ("config", "api")
        for call in calls(tree)
        if ast.unparse(call.func) in ("json.loads", "json.load") and str(path) not in OUR_OWN_JSON
    ]
    assert offenders == []


def test_hints_leave_by_one_way_only():
    """A request or a transaction that publishes by itself waits for the broker (data rule 5)."""
    publishing = {"delay", "apply_async", "send_task", "group_send", "publish"}
    offenders = [
        f"{path}:{call.lineno} .{call.func.attr}()"
        for path, tree in sources(*CODE)
        if str(path) != "runs/live/hints.py"
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in publishing
        and ast.unparse(call.func.value) != "hints"
    ]
    assert offenders == []


def test_public_services_take_keywords_only_and_an_actor_where_somebody_acts():
    """Permission checks are skipped where no user is given: so whoever changes something must be named."""
    without_actor = re.compile(
        # Our own parts at work inside a caller's transaction, and exchanges in which the actor is only being found out.
        r"^(audit_pay_owed|token_(issue|refresh|verify|exchange)|person_sign_in|password_(reset_ask|set)|link_look|second_step_(options|take|end)|"
        r"provider_(begin|begin_first|place|test_by_operator|end_by_operator)|still_waiting|"
        r".*_reveal|call_judge|request_judged|requester_refused|permit_(redeem|settle)|resolution.*|"
        r"proposal_(observe|expire_due)|proposals_.*|tenant_bootstrap|tenant_create|sweep.*|dispatch.*|evaluate.*|reconcile.*|run_wake|wake.*|"
        r"open_(judge|tenants)|proposal_judge(_published)?|stricter_today|policy_changed|judgement_keep|"
        r"replay_(begin|run)|replays_left_alone|state_read|"
        r"exposure_.*|webhook_(tell|send)|webhooks_(due|forget_old)|notices_forget_old|waiting_send|digests_due|digest_send|alarms_(look|forget_old)|"
        r"question_take|questions_.*|clock_settled|made_by_edit|revision_.*|"
        r"epoch_.*|proposal_found|heartbeat_record|lost_time_.*|database_restored.*)$"
    )
    positional, actorless = [], []
    for path, tree in sources(*APPS):
        if floor(path) != "services":
            continue
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            where = f"{path}:{node.lineno} {node.name}"
            if node.args.args or node.args.posonlyargs:
                positional.append(where)
            elif "actor" not in [a.arg for a in node.args.kwonlyargs] and not without_actor.match(node.name):
                actorless.append(where)
    assert positional == []
    assert actorless == []


def test_the_application_never_uses_celerys_delayed_delivery():
    """Timers are rows (data rule 5): an ETA or countdown lives in the broker and dies with it."""
    offenders = [
        f"{path}:{call.lineno}"
        for path, tree in sources(*CODE)
        for call in calls(tree)
        if any(keyword.arg in ("eta", "countdown") for keyword in call.keywords)
    ]
    assert offenders == []


def test_after_commit_hooks_never_break_the_answer():
    """A hook that raises would show the caller an error although the row is committed (data rule 5)."""
    offenders = [
        f"{path}:{call.lineno}"
        for path, tree in sources(*CODE)
        for call in calls(tree)
        if getattr(call.func, "attr", getattr(call.func, "id", "")) == "on_commit"
        and not any(k.arg == "robust" and getattr(k.value, "value", None) is True for k in call.keywords)
    ]
    assert offenders == []


@pytest.mark.parametrize("app", APPS)
def test_migrations_import_nothing_of_the_project(app):
    offenders = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in sources(app)
        if "migrations" in path.parts
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        and (getattr(node, "module", None) or node.names[0].name).split(".")[0] in (*APPS, "config")
    ]
    assert offenders == []


def test_templates_hold_no_inline_script_style_or_handler():
    offenders = []
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        for pattern in (
            r"<style\b",
            r"\sstyle=",
            r"<script(?![^>]*\bsrc=)",
            r"\son[a-z]+=",
            r"javascript:",
            r"\|safe\b",
        ):
            offenders += [f"{path.relative_to(ROOT)}: {match.group(0)}" for match in re.finditer(pattern, text)]
    assert offenders == []


def test_no_address_of_another_host_is_loaded_by_a_page():
    offenders = [
        f"{path.relative_to(ROOT)}: {match.group(0)}"
        for path in (ROOT / "templates").rglob("*.html")
        for match in re.finditer(r"""(?:src|href|action)=["'](?:https?:)?//[^"']*""", path.read_text())
    ]
    assert offenders == []


def test_what_is_vendored_says_its_version_and_licence_and_runs_without_inline_code():
    for folder in sorted((ROOT / "static/vendor").iterdir()):
        said = (folder / "VERSION").read_text()
        [script] = folder.glob("*.min.js")
        assert script.name in said
        assert re.search(r" \d+\.\d+\.\d+ from ", said), folder
        assert (folder / "LICENSE").read_text().strip()
    [config] = re.findall(r"""name="htmx-config" content='([^']+)'""", (ROOT / "templates/base.html").read_text())
    settings = json.loads(config)
    assert (settings["includeIndicatorStyles"], settings["allowEval"]) == (False, False)
