"""Orders of the two demo tenants: a charge for each at the payment server, and the table that maps one to the other.

Idempotent: a charge is recognised by its description, so an interrupted start goes on and a later one changes nothing.
"""

import datetime as dt
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from config.stack.process import StackError, write_private


@dataclass(frozen=True, slots=True)
class Order:
    """`amount` in minor units of `currency` (yen have none); `days` before the first start it was placed."""

    customer: str
    amount: int
    currency: str
    days: int
    items: tuple[str, ...]


FIRST_NUMBER = 1029
ORDERS: dict[str, tuple[Order, ...]] = {
    "acme": (
        Order("Mara Lindqvist", 42_00, "aud", 2, ("Linen table runner",)),
        Order("Tomás Ferreira", 189_00, "aud", 3, ("Walnut desk lamp", "Spare bulb, warm white")),
        Order("Aiko Watanabe", 12_800, "jpy", 3, ("Cast-iron teapot",)),
        Order("Priya Raman", 64_50, "aud", 4, ("Ceramic mug, set of four",)),
        Order("Oisín Byrne", 75_90, "eur", 4, ("Wool throw, moss",)),
        Order("Hannah Okafor", 1_249_00, "aud", 5, ("Oak bookcase, 180 cm",)),
        Order("Lukas Brandt", 38_00, "eur", 5, ("Bread knife",)),
        Order("Siobhan Murphy", 219_95, "aud", 6, ("Armchair cover", "Two cushions")),
        Order("Noah Whitaker", 18_40, "aud", 6, ("Beeswax candles, box of six",)),
        Order("Zeynep Kaya", 96_00, "eur", 7, ("Copper pan, 24 cm",)),
        Order("Ruby Nguyen", 330_00, "aud", 8, ("Bedside table, ash",)),
        Order("Matteo Ricci", 54_20, "eur", 8, ("Espresso cups, set of six",)),
        Order("Charlotte Dubois", 120_00, "eur", 9, ("Wall mirror, round",)),
        Order("Jarrah Williams", 87_30, "aud", 9, ("Garden secateurs", "Leather holster")),
        Order("Kenji Mori", 6_400, "jpy", 10, ("Indigo apron",)),
        Order("Amelia Hart", 15_00, "aud", 10, ("Gift wrapping", "Card")),
        Order("Dmitri Volkov", 410_00, "aud", 11, ("Floor lamp, brass",)),
        Order("Fatima Zahra", 73_25, "aud", 12, ("Hand-woven basket, large",)),
        Order("Georgia Papadakis", 248_00, "aud", 12, ("Dining chair", "Dining chair")),
        Order("Ethan Kowalski", 29_90, "aud", 13, ("Door mat, coir",)),
        Order("Ines Moreau", 66_60, "eur", 14, ("Throw cushion, two",)),
        Order("Sofia Almeida", 980_00, "aud", 15, ("Sideboard, blackwood",)),
        Order("Haruto Sato", 23_100, "jpy", 15, ("Kitchen knife, santoku",)),
        Order("Grace Adeyemi", 51_75, "aud", 16, ("Tea towels, set of five",)),
        Order("Liam O'Connor", 140_00, "aud", 17, ("Picture frame, A2", "Picture frame, A3")),
        Order("Chloe Bennett", 22_00, "aud", 18, ("Soap dish, slate",)),
        Order("Anders Nyström", 305_00, "eur", 18, ("Bath cabinet",)),
        Order("Wei Zhang", 58_80, "aud", 19, ("Rice bowl, set of two",)),
        Order("Isla McKenzie", 199_00, "aud", 20, ("Quilt cover, queen",)),
        Order("Omar Haddad", 84_00, "aud", 21, ("Serving platter",)),
        Order("Bianca Rossi", 47_10, "eur", 22, ("Olive-wood spoon", "Salt cellar")),
        Order("Jack Tanaka", 640_00, "aud", 23, ("Coffee table, recycled timber",)),
        Order("Nora Eriksen", 33_30, "aud", 24, ("Wool socks, three pairs",)),
        Order("Samuel Osei", 112_00, "aud", 25, ("Cast-iron skillet",)),
        Order("Yuki Kobayashi", 3_980, "jpy", 26, ("Furoshiki cloth",)),
        Order("Eleanor Whitmore", 268_50, "aud", 27, ("Window blind, made to measure",)),
        Order("Arjun Patel", 91_00, "aud", 28, ("Spice rack", "Twelve jars")),
        Order("Clara Schneider", 78_00, "eur", 29, ("Desk organiser",)),
        Order("Tahlia Brown", 26_40, "aud", 30, ("Plant pot, terracotta",)),
        Order("Mikkel Holm", 1_480_00, "aud", 31, ("Sofa bed, charcoal",)),
    ),
    "globex": (
        Order("Vera Castellanos", 310_00, "aud", 2, ("Water filter, annual supply",)),
        Order("Henry Ashworth", 45_00, "aud", 4, ("Hose connector kit",)),
        Order("Leila Farahani", 128_00, "eur", 6, ("Pump seal", "Gasket set")),
        Order("Bruno Keller", 9_600, "jpy", 9, ("Pressure gauge",)),
    ),
}


def seed_orders(payments_url: str, key: str, reference: Path) -> None:
    """Creates the charges that are missing and writes `reference`/<tenant>/orders.json. Raises StackError."""
    with httpx.Client(base_url=payments_url, auth=(key, ""), timeout=10, trust_env=False) as server:
        charges = {charge["description"]: charge["id"] for charge in _all_charges(server)}
        for tenant, orders in ORDERS.items():
            table = reference / tenant / "orders.json"
            known = _read(table)
            for number, order in enumerate(orders, FIRST_NUMBER):
                name = f"ord_{number}"
                description = f"{tenant} {name}"
                if description not in charges:
                    charges[description] = _charge(server, order, description)
                placed = known.get(name, {}).get("placed") or _days_ago(order.days)
                known[name] = {
                    "charge": charges[description],
                    "customer": order.customer,
                    "placed": placed,
                    "items": list(order.items),
                }
            text = json.dumps(known, ensure_ascii=False, indent=1) + "\n"
            if not table.exists() or table.read_text() != text:
                write_private(table, text)


def _all_charges(server: httpx.Client) -> list[dict[str, Any]]:
    """Every charge that the server knows. It takes any limit, so that one page holds them all."""
    answer = server.get("/v1/charges", params={"limit": 100_000})
    if answer.status_code != 200:
        raise StackError(f"The payment server did not list its charges (HTTP {answer.status_code}): {answer.text}")
    return list(answer.json()["data"])


def _charge(server: httpx.Client, order: Order, description: str) -> str:
    """One charge of a test card. No metadata: localstripe answers 500 to a charge that carries some."""
    form = {"amount": order.amount, "currency": order.currency, "source": "pm_card_visa", "description": description}
    answer = server.post("/v1/charges", data=form)
    if answer.status_code != 200:
        raise StackError(f"The payment server refused a charge (HTTP {answer.status_code}): {answer.text}")
    return str(answer.json()["id"])


def _read(table: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(table.read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def _days_ago(days: int) -> str:
    """ISO date in the time zone of the machine; a demo's dates only have to look recent."""
    return dt.date.fromtimestamp(time.time() - days * 86_400).isoformat()
