"""The frame of all pages: headers, files, forms, sign-in, errors."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

import httpx
import jinja2
import pytest

from discreet.errors import InputError
from discreet.server.pages import static_files as vendored
from discreet.server.pages.frame import read_templates
from tests.server.pages.office import Office

MANIFEST = json.loads(files("discreet.server").joinpath("static", "vendor", "manifest.json").read_bytes())


def test_vendored_files_are_those_of_the_manifest_and_free() -> None:
    folder = files("discreet.server").joinpath("static", "vendor")
    there = {place.name for place in folder.iterdir() if place.name.endswith(".js")}
    assert there == set(MANIFEST)
    for name, row in MANIFEST.items():
        assert hashlib.sha256(folder.joinpath(name).read_bytes()).hexdigest() == row["sha256"]
        assert row["licence"] in ("0BSD", "MIT", "ISC", "BSD-3-Clause")
        assert "Permission" in folder.joinpath(row["licence_file"]).read_text("utf-8")


def test_a_changed_vendored_file_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    vendored.static_files.cache_clear()
    true = vendored._file

    def changed(name: str, place: object) -> vendored.StaticFile:
        found = true(name, place)  # type: ignore[arg-type]
        return found._replace(content=found.content + b"//") if name == "htmx.min.js" else found

    monkeypatch.setattr(vendored, "_file", changed)
    with pytest.raises(InputError, match="htmx"):
        vendored.static_files()


def test_pages_name_the_digest_of_every_file_they_load(office: Office) -> None:
    text = httpx.get(office.origin + "/").text
    found = re.findall(r'(?:src|rel="stylesheet" href)="(/static/[^"]+)"', text)
    assert len(found) >= 3
    for address in found:
        reply = httpx.get(office.origin + address)
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
        digest = base64.b64encode(hashlib.sha256(reply.content).digest()).decode()
        assert f'"{address}" integrity="sha256-{digest}"' in text


@pytest.mark.parametrize(
    "path",
    [
        "/static/0000000000000000/page.js",
        "/static/../app.py/page.js",
        "/static/x/..%2f..%2fapp.py",
        "/static/x/manifest.json",
    ],
)
def test_files_are_looked_up_by_name_and_digest(office: Office, path: str) -> None:
    assert httpx.get(office.origin + path).status_code == 404


@pytest.mark.parametrize("path", ["/", "/account", "/static/x/page.js"])
def test_nothing_runs_that_is_not_ours_and_nobody_frames_it(office: Office, path: str) -> None:
    headers = httpx.get(office.origin + path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def signed_in(office: Office, name: str) -> httpx.Client:
    client = httpx.Client(headers={"x-test-certificate": name, "origin": office.origin}, base_url=office.origin)
    form = {"content-type": "application/x-www-form-urlencoded"}
    reply = client.post("/sign-in/certificate", headers=form)
    assert (reply.status_code, reply.headers["location"]) == (303, "/account")
    cookie = reply.headers["set-cookie"]
    assert "SameSite=Strict" in cookie
    assert "HttpOnly" in cookie
    client.headers["cookie"] = cookie.partition(";")[0]
    return client


def test_a_form_signs_in_and_out_with_its_token_only(office: Office) -> None:
    client = signed_in(office, "Ada")
    token = client.get("/account").text.partition('name="csrf" value="')[2].partition('"')[0]
    assert len(token) == 64
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/sign-out", headers=form).status_code == 403
    assert client.post("/sign-out", data={"csrf": "0" * 64}).status_code == 403
    elsewhere = {"origin": "https://evil.example.org"}
    assert client.post("/sign-out", data={"csrf": token}, headers=elsewhere).status_code == 403
    assert client.get("/sign-in/me").json()["name"] == "Ada"
    assert client.post("/sign-out", data={"csrf": token}).status_code == 303
    assert client.get("/account").status_code == 401


def test_a_stolen_cookie_is_worth_nothing_with_another_certificate(office: Office) -> None:
    client = signed_in(office, "Ada")
    assert "Ada" in client.get("/account").text
    for thief in ("Ben", ""):
        headers = {"x-test-certificate": thief} if thief else {"x-test-certificate": ""}
        reply = client.get("/account", headers=headers)
        assert reply.status_code == 401
        assert "Ada" not in reply.text
        assert "Max-Age=0" in reply.headers["set-cookie"]


def test_after_templates_were_read_no_page_compiles_one(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    read_templates()
    monkeypatch.setattr(jinja2.Environment, "compile", lambda *_: pytest.fail("a template was compiled"))
    for path in ("/", "/tables/census/2021.1?rows=sex&ask=yes", "/account", "/nowhere/at/all"):
        assert httpx.get(office.origin + path).status_code in (200, 404)
