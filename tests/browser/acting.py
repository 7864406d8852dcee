"""Who acts in the browser tests: an agent that asks through the client, people who sign in, and a few hands behind."""

import textwrap
from dataclasses import dataclass, field
from typing import Any

import httpx

from config.stack.demo_orders import FIRST_NUMBER, ORDERS
from tests.support.grounds import SECOND
from tests.support.stack import Stack


@dataclass(frozen=True)
class Asked:
    """A call that waits for people."""

    run_id: str
    call_id: str
    proposal_id: str
    digest: str
    order: str


@dataclass
class Acting:
    """The running product, with shortcuts for what tests need of it."""

    stack: Stack
    _orders: list[int] = field(default_factory=lambda: list(range(len(ORDERS["acme"]))))

    def __post_init__(self) -> None:
        self.agent = self.stack.agent()

    def url(self, path: str) -> str:
        return self.stack.base_url + path

    def sign_in(self, page: Any, role: str = "reviewer", path: str = "/") -> None:
        """Signs in and opens `path`; role "second" is Tove Brandt."""
        self.sign_in_as(page, *(SECOND if role == "second" else self.stack.person(role)))
        page.goto(self.url(path))

    def sign_in_as(self, page: Any, email: str, password: str) -> None:
        """Signs anybody in; whatever page follows."""
        page.goto(self.url("/sign-in/"))
        page.fill("input[name=username]", email)
        page.fill("input[name=password]", password)
        page.click("main button[type=submit]")
        page.wait_for_url(lambda url: "/sign-in/" not in url)

    def refund(
        self, amount: int = 100, *, title: str = "close ticket 5512", reason: str = "", **arguments: Any
    ) -> Asked:
        """The agent asks for a refund of an order of its own, and it is held."""
        number = self._orders.pop(0)
        order, row = f"ord_{FIRST_NUMBER + number}", ORDERS["acme"][number]
        wanted = {"order_id": order, "amount": amount, "currency": row.currency.upper(), **arguments}
        return self.held("refund_order", wanted, title=title, order=order, **({"reason": reason} if reason else {}))

    def held(self, tool: str, arguments: dict[str, Any], *, title: str, order: str = "", **more: Any) -> Asked:
        """The agent asks for a call in a run of its own, and it is held."""
        run = self.agent.open_run(title)["id"]
        call = self.agent.call(run, "step-1", tool, arguments, **more)
        for _ in range(30):
            if call["state"] != "new":
                break
            call = self.agent.get_call(run, "step-1", wait=1)
        assert call["state"] == "waiting", call
        return Asked(run, "step-1", call["proposal"]["id"], call["digest"], order)

    def decide(self, asked: Asked, verdict: str, reason: str = "") -> None:
        """Tove Brandt's decision, from another device."""
        with httpx.Client(base_url=self.stack.base_url, follow_redirects=True, timeout=20, trust_env=False) as device:
            device.get("/sign-in/")
            form = {"username": SECOND[0], "password": SECOND[1], "csrfmiddlewaretoken": device.cookies["csrftoken"]}
            device.post("/sign-in/", data=form, headers={"Referer": self.url("/sign-in/")})
            form = {"verdict": verdict, "digest": asked.digest, "round": "1", "reason": reason}
            headers = {"Referer": self.url("/"), "X-CSRFToken": device.cookies["csrftoken"]}
            answer = device.post(f"/proposals/{asked.proposal_id}/decide/", data=form, headers=headers)
            assert answer.status_code == 200, answer.text

    def policy(self, *rules: str) -> None:
        """Publishes a policy of these rules for acme."""
        lines = "".join(f"  - {rule}\n" for rule in rules)
        self.python(f"""
            from approvals.selectors.policies import policy_in_force
            from approvals.services.policy import policy_publish
            source = {"version: 1" + chr(10) + "rules:" + chr(10) + lines!r}
            policy_publish(actor=admin, source=source, based_on=policy_in_force(admin.tenant_id).number)
        """)

    def admit_memo(self) -> None:
        """A tool that takes a long text, beside the demo's: like a refund, with a memo of up to 400,000 characters."""
        self.python("""
            import json
            from approvals.selectors.catalogue import active_contract
            from approvals.services.contract import contract_admit
            from approvals.models import ToolVersion
            document = ToolVersion.objects.filter(tool__name="refund_order", tool__tenant_id=tenant).first().document
            document["name"] = "refund_with_memo"
            document["alternatives"] = []
            document["input_schema"]["properties"]["memo"] = {"type": "string", "title": "Memo", "maxLength": 400000}
            contract_admit(actor=admin, document=document)
        """)

    def python(self, code: str) -> str:
        """Runs code in the product with `tenant` acme and `admin`, its admin."""
        head = f"""
            from access.selectors.actors import actor_for_session, tenant_id_of, user_id_of
            tenant = tenant_id_of("acme")
            admin = actor_for_session(user_id_of("{self.stack.demo()["acme"]["people"]["admin"]}"), tenant)
        """
        return self.stack.manage("shell", "-v", "0", "-c", textwrap.dedent(head) + textwrap.dedent(code))
