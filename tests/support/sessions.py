"""A signed-in person's HTTP client: the real form, cookies and CSRF token."""

import httpx


def signed_in(base_url: str, email: str, password: str, *, timeout: float = 20.0) -> httpx.Client:
    """For pages and for deciding by the API. Raises AssertionError when the form refuses."""
    client = httpx.Client(base_url=base_url, follow_redirects=True, timeout=timeout, trust_env=False)
    client.get("/sign-in/")
    answer = client.post(
        "/sign-in/",
        data={"username": email, "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]},
        headers={"Referer": base_url + "/sign-in/"},
    )
    assert answer.status_code == 200, answer.text
    assert "/sign-in/" not in str(answer.url), "sign-in refused"
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    client.headers["Referer"] = base_url + "/"
    return client
