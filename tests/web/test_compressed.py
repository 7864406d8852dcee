"""config/compressed.py: style sheets and scripts travel small, pages as they are."""

import gzip
from pathlib import Path

from asgiref.sync import async_to_sync
from django.conf import settings


def test_a_style_sheet_travels_compressed_and_is_the_same(client):
    answer = client.get("/static/css/tokens.css", headers={"accept-encoding": "gzip, br"})

    async def whole():
        return b"".join([chunk async for chunk in answer.streaming_content])

    sent = async_to_sync(whole)()
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    source = (Path(settings.BASE_DIR) / "static/css/tokens.css").read_bytes()
    assert gzip.decompress(sent) == source
    assert len(sent) < len(source)


def test_who_takes_no_compression_gets_none(client):
    answer = client.get("/static/css/tokens.css")
    assert "Content-Encoding" not in answer.headers


def test_a_page_is_not_compressed(client, db):
    """It may hold a secret beside words of its address: its length would tell (BREACH)."""
    answer = client.get("/sign-in/?next=/runs/", headers={"accept-encoding": "gzip, br"})
    assert answer.status_code == 200
    assert len(answer.content) > 200  # what would be worth it
    assert "Content-Encoding" not in answer.headers
