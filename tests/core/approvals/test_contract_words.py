"""approvals/core/contract_words.py: a contract in words, its own texts apart from ours."""

import pytest

from approvals.core.contract_words import contract_words, origin_names
from tests.core.approvals.documents import refund


def told(contract):
    return {fact.label: (fact.text, fact.quoted) for part in contract_words(contract) for fact in part.facts}


@pytest.mark.parametrize(
    ("origin", "named"),
    [
        ({"kind": "builtin", "publisher": "Clearance", "reviewed_by": "Clearance"}, ["publisher", "reviewer"]),
        ({"kind": "reviewed", "publisher": "Acme"}, ["publisher"]),
        ({"kind": "reviewed", "reviewed_by": "Rita"}, ["reviewer"]),
        ({"kind": "builtin"}, []),
    ],
)
def test_publisher_and_reviewer_are_told_apart_and_never_as_one_name(origin, named):
    contract = refund({"/origin": origin})
    facts = told(contract)
    assert [label for label, _ in origin_names(contract.origin)] == named
    assert facts["origin"][1] == ()
    for label, key in (("publisher", "publisher"), ("reviewer", "reviewed_by")):
        assert (label in facts) == (label in named)
        if label in named:
            assert facts[label][1] == (origin[key],)
    assert ("Nobody is named as reviewer." in facts["origin"][0]) == ("reviewer" not in named)
