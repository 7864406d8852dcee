"""The form of one rule, freeze or limit as the page of a draft shows it."""

from dataclasses import dataclass, field
from typing import Any

from approvals.core.policy_fields import Fields
from approvals.core.policy_form import TERMS, TIER_FIELDS, tier_count

WORDS = {"rules": "rule", "freeze": "freeze", "limits": "limit"}
"""The parts of a policy that have a form, and what one of each is called."""

type Choices = tuple[tuple[str, str], ...]

_AUTHENTICATION: Choices = (
    ("session", "signed in is enough"),
    ("fresh", "confirm who they are again, within five minutes"),
    ("signed", "sign with a passkey"),
)
_CLOCK: Choices = (("runs", "lets the time run"), ("stops", "stops the time"))
_EDITABLE: Choices = (("yes", "yes"), ("no", "no"))
_AS_THE_RULE: Choices = (("", "as the rule says"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field. `choices` are a list to choose from; `long` is a text of several lines."""

    key: str
    label: str
    value: str
    wrong: str
    placeholder: str = ""
    help: str = ""
    choices: Choices = ()
    long: bool = False


@dataclass
class Opened:
    """The form of one rule, freeze or limit. `index` None is a new one; `was` is the id it had when it was opened."""

    part: str
    index: int | None
    was: str
    fields: Fields
    wrong: dict[str, str] = field(default_factory=dict)

    effects: Choices = (("allow", "allow it"), ("ask", "hold it for people"), ("deny", "refuse it"))
    levels: Choices = (
        ("absolute", "for good"),
        ("overridable", "unless people override it with a reason"),
        ("advisory", "as advice: noted, and judging goes on"),
    )
    pers: Choices = (
        ("customer", "calls for one customer"),
        ("agent", "calls of one agent"),
        ("tool", "all calls of the tool"),
    )
    windows: Choices = (("call", "one call"), ("24h", "24 hours"), ("30d", "30 days"))
    overs: Choices = (("deny", "refuse it"), ("ask", "hold it for people"))

    @property
    def word(self) -> str:
        """What one of this part is called."""
        return WORDS[self.part]

    @property
    def terms(self) -> list[Field]:
        """How people decide, for the whole rule."""
        return self._terms("", ())

    @property
    def terms_said(self) -> bool:
        """True if the rule says something of its own about that, or something of it could not be read."""
        return any(one.wrong or one.value not in ("", one.choices[0][0] if one.choices else "") for one in self.terms)

    @property
    def tiers(self) -> list[dict[str, Any]]:
        """The rows of tiers, one empty row more."""
        rows = []
        for at in range(tier_count(self.fields) + 1):
            before = f"tier-{at}-"
            row: dict[str, Any] = {"number": at + 1, "terms": self._terms(before, _AS_THE_RULE)}
            for name in TIER_FIELDS:
                key = f"{before}{name}"
                row[name] = {"name": key, "value": self.fields.get(key, ""), "wrong": self.wrong.get(key, "")}
            row["terms_said"] = any(one.value or one.wrong for one in row["terms"])
            rows.append(row)
        return rows

    def _terms(self, before: str, first: Choices) -> list[Field]:
        said: dict[str, dict[str, Any]] = {
            "rejections": {"label": "Rejected by", "placeholder": "1", "help": "so many different people"},
            "authentication": {"label": "Whoever decides has to", "choices": first + _AUTHENTICATION},
            "reasons": {"label": "Reasons offered to whoever rejects", "long": True, "help": "one a line"},
            "question_clock": {"label": "A question to the agent", "choices": first + _CLOCK},
            "remind_at_percent": {"label": "Reminded at", "placeholder": "80", "help": "% of the time to decide"},
            "escalate_to": {
                "label": "Told with the reminder",
                "placeholder": "leads",
                "help": "groups; told, not asked",
            },
            "editable": {"label": "Reviewers may edit the call", "choices": first + _EDITABLE},
        }
        return [
            Field(
                key=f"{before}{name}",
                value=self.fields.get(f"{before}{name}", ""),
                wrong=self.wrong.get(f"{before}{name}", ""),
                **said[name],
            )
            for name in TERMS
        ]
