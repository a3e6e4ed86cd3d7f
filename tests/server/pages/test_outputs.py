"""The output checking room: who may do what, what files are taken, what is found, and that all of it is logged."""

from __future__ import annotations

import io
import socket
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import time
from typing import Any

import httpx
import msgspec
import pytest

from discreet.server.denied import Denied
from discreet.server.handed_in import Findings, OutputReading, Released, handed_in, safe_name
from tests.server.pages.office import Office

ROWS = "Total,Total,60 Total,F,30 Total,M,30 N,Total,30 N,F,14 N,M,16 S,Total,30 S,F,16 S,M,14"
SAFE = "\n".join(["region,sex,value", *ROWS.split(), ""]).encode()
OPEN = b"region,value\nTotal,30\nN,10\nS,x\nW,12\n"
READ = OutputReading(variables=["region", "sex"], counts=True, smallest=3)
LOG = "output.review"


def findings(
    content: bytes, reading: OutputReading = READ, *released: Released, name: str = "t.csv", kind: str = "table"
):

    return msgspec.json.decode(handed_in(name, content, kind, reading, released).findings, type=Findings)


# ---- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "../t.csv",
        "/etc/t.csv",
        "a/b.csv",
        "..\\t.csv",
        "C:t.csv",
        ".t.csv",
        "t\x00.csv",
        "t\u202e.csv",
        "nul.csv",
        "",
        "..",
    ],
)
def test_a_name_that_is_a_path_or_worse_is_not_taken(name: str) -> None:
    with pytest.raises(Denied):
        safe_name(name)


def workbook(parts: dict[str, bytes], attributes: int = 0) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = attributes
            archive.writestr(info, content)
    return sink.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        workbook({"../../evil": b"x"}),
        workbook({"/evil": b"x"}),
        workbook({"a\\..\\evil": b"x"}),
        workbook({"xl/vbaProject.bin": b"x"}),
        workbook({"link": b"/etc/passwd"}, 0xA1FF << 16),
        workbook({f"{k}": bytes(8 * 2**20) for k in range(30)}),
        b"PK\x03\x04 and then nothing",
    ],
)
def test_a_workbook_that_is_made_to_do_harm_is_not_taken(content: bytes) -> None:
    with pytest.raises(Denied, match="workbook"):
        handed_in("t.xlsx", content, "table", READ)


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("t.exe", "table", b"x"),
        ("t.csv", "figure", SAFE),
        ("t.png", "figure", b"GIF89a"),
        ("t.pdf", "figure", b"<html>"),
        ("t.csv", "table", b"\xff\xfe"),
        ("t.csv", "nothing", SAFE),
        ("t.csv", "table", b""),
    ],
)
def test_a_file_that_is_not_of_its_kind_is_not_taken(name: str, kind: str, content: bytes) -> None:
    with pytest.raises(Denied):
        handed_in(name, content, kind, READ)


@pytest.mark.parametrize("cell", ["=1+1", "@SUM(A1)", "+cmd|'/c calc'!A0", '"-2+3+cmd"'])
def test_cells_that_a_spreadsheet_would_run_are_found(cell: str) -> None:
    found = findings(b"region,value\nTotal,5\nN," + cell.encode() + b"\n", OutputReading(variables=["region"]))
    assert "formula" in found.against[0]


def test_negative_numbers_are_no_formulas() -> None:
    found = findings(b"term,estimate\nage,-0.5\nsex,+1.25e-3\n", kind="model")
    assert found.against == []
    assert not found.checked


def test_formulas_of_a_workbook_are_found() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for line in (["region", "value"], ["Total", 9], ["N", "=4+5"]):
        book.active.append(line)
    sink = io.BytesIO()
    book.save(sink)
    assert "formulas" in findings(sink.getvalue(), OutputReading(variables=["region"]), name="t.xlsx").against[0]


ENTITIES = b"".join(b'<!ENTITY %c "%s">' % (98 + k, b"&%c;" % (97 + k) * 40) for k in range(7))


@pytest.mark.parametrize(
    "declared", [b'<!ENTITY a "xxxxxxxxxx">' + ENTITIES, b'<!ENTITY h SYSTEM "file:///etc/passwd">']
)
def test_a_workbook_with_entities_is_not_read(declared: bytes) -> None:
    """Neither does a small file grow to gigabytes, nor does it bring files of the server along."""
    openpyxl = pytest.importorskip("openpyxl")
    book, sink = openpyxl.Workbook(), io.BytesIO()
    for line in (["region", "value"], ["Total", 9], ["N", 4]):
        book.active.append(line)
    book.save(sink)
    with zipfile.ZipFile(sink) as plain:
        parts = {name: plain.read(name) for name in plain.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].partition(b"?>")[2] or parts["xl/worksheets/sheet1.xml"]
    start = b'<?xml version="1.0"?><!DOCTYPE x [' + declared + b"]>"
    parts["xl/worksheets/sheet1.xml"] = start + sheet.replace(b"<v>4</v>", b"<v>&h;</v>")
    found = findings(workbook(parts), OutputReading(variables=["region"]), name="t.xlsx")
    assert not found.checked
    assert "could not be checked" in found.against[0]
    assert "root:" not in str(found)


def test_a_drawing_with_scripts_is_found() -> None:
    assert findings(b"<svg onload='x()'/>", name="f.svg", kind="figure").against
    assert not findings(b"<svg><path d='M0,0'/></svg>", name="f.svg", kind="figure").against


def test_the_output_check_says_what_a_hole_gives_away() -> None:
    found = findings(OPEN, OutputReading(variables=["region"]))
    assert found.checked
    assert any("S" in words for words in found.against)
    assert findings(SAFE).against == []


def test_small_counts_are_found() -> None:
    assert any("below 3" in words for words in findings(SAFE.replace(b"N,F,14", b"N,F,1")).against)


def test_a_table_that_cannot_be_read_is_not_taken_for_safe() -> None:
    found = findings(SAFE, OutputReading(variables=["nothing"]))
    assert found.against
    assert not found.checked
    assert findings(SAFE, OutputReading()).against


def before(content: bytes, *variables: str) -> Released:
    return Released("output 7, t.csv", OutputReading(variables=list(variables), counts=True), content, "t.csv")


def test_differences_from_what_was_released_are_found() -> None:
    earlier = SAFE.replace(b"N,F,14", b"N,F,15").replace(b"S,M,14", b"S,M,x")
    found = findings(SAFE, READ, before(earlier, "region", "sex"))
    assert found.differencing == [
        "1 cell differs by fewer than 3 from output 7, t.csv: 'n × f'",
        "1 cell is shown here and withheld in output 7, t.csv: 's × m'",
    ]
    assert findings(SAFE, READ, before(SAFE, "region", "sex")).differencing == []


def test_a_coarser_table_is_compared_with_the_margins_of_a_finer_one() -> None:
    coarse = b"region,value\nTotal,60\nN,29\nS,31\n"
    for new, reading, old in (
        (coarse, OutputReading(variables=["region"], counts=True), before(SAFE, "region", "sex")),
        (SAFE, READ, before(coarse, "region")),
    ):
        (words,) = findings(new, reading, old).differencing
        assert "2 cells differ by fewer than 3" in words


def test_tables_that_share_only_some_variables_are_compared_at_their_totals() -> None:
    earlier = b"Region,age,n\nall,all,60\nN,all,29\nS,all,31\nN,old,10\nN,young,19\nS,old,11\nS,young,20\n"
    old = Released("output 9", OutputReading(variables=["Region", "age"], value="n", counts=True), earlier, "u.csv")
    (words,) = findings(SAFE, READ, old).differencing
    assert words == "2 cells differ by fewer than 3 from output 9: 'n', 's'"
    alone = Released("output 3", OutputReading(variables=["age"], counts=True), b"age,value\nTotal,59\n", "v.csv")
    assert findings(SAFE, READ, alone).differencing == ["1 cell differs by fewer than 3 from output 3: 'the whole'"]


def test_what_was_released_and_cannot_be_read_is_named() -> None:
    old = Released("output 5", OutputReading(variables=["nothing"], counts=True), SAFE, "x.csv")
    assert findings(SAFE, READ, old).differencing == ["output 5 cannot be read as a table, and was not compared"]


def test_values_that_are_no_counts_are_near_by_their_share() -> None:
    reading = OutputReading(variables=["region"], value="pay")
    tables = [b"region,pay\nTotal,5000\nN,3000\nS,2000\n", b"region,pay\nTotal,4900\nN,2900\nS,2000\n"]
    old = Released("output 4", reading, tables[1], "w.csv")
    (words,) = findings(tables[0], reading, old).differencing
    assert words == "2 cells differ by less than 3, or than 5%, from output 4: 'total', 'n'"


# ---- people -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def projects(office: Office) -> dict[str, int]:
    found = {}
    later = int(time()) + 86_400
    for name, member, expires in (("Wages", "Ada", later), ("Reviewer's own", "Rita", later), ("Old", "Ada", later)):
        number = office.store.projects.request(name, office.numbers[member], licence="1", expires=expires)
        office.store.projects.set_state(number, "active")
        found[name] = number
    office.store.projects.add_member(found["Reviewer's own"], office.numbers["Ada"])
    office.store.projects.set_state(found["Old"], "suspended")
    return found


@contextmanager
def client(office: Office, name: str) -> Iterator[httpx.Client]:
    headers = {"x-test-certificate": name, "origin": office.origin}
    with httpx.Client(base_url=office.origin, headers=headers, timeout=30) as found:
        yield found


def hand_in(
    office: Office,
    project: int,
    name: str = "Ada",
    content: bytes = SAFE,
    file: str = "t.csv",
    variables: str = "region, sex",
) -> httpx.Response:
    form = {
        "project": str(project),
        "title": "Wages by region",
        "kind": "table",
        "variables": variables,
        "counts": "yes",
    }
    with client(office, name) as one:
        return one.post("/outputs/new", data=form, files=[("files", (file, content))])


def act(office: Office, name: str, address: str, what: str, **form: str) -> int:
    with client(office, name) as one:
        seen = one.get(address).text.partition('name="seen" value="')[2].partition('"')[0]
        return one.post(f"{address}/{what}", data={"seen": seen, **form}).status_code


def test_a_whole_review_with_two_turns(office: Office, projects: dict[str, int]) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    with client(office, "Ada") as ada, client(office, "Rita") as rita, client(office, "Otto") as otto:
        page = ada.get(address).text
        assert "being checked" in page
        assert f"{address}/files/" not in page  # nothing of it is given out yet
        file = rita.get(address).text.partition(f'href="{address}/files/')[2].partition('"')[0]
        assert rita.get(f"{address}/files/{file}").content == SAFE
        assert ada.get(f"{address}/files/{file}").status_code == 403
        assert act(office, "Rita", address, "decide", decision="return", words="Please round these.") == 303
        assert "Please round" not in otto.get(address).text  # each decides alone
        assert "Please round" not in ada.get(address).text
        assert act(office, "Rita", address, "decide", decision="approve", words="Again.") == 403
        assert act(office, "Otto", address, "decide", decision="approve", words="Fine for me.") == 303
        assert "Please round" in otto.get(address).text
        assert "returned to the analyst" in ada.get(address).text
        assert act(office, "Otto", address, "release") == 403
        form = {"kind": "table", "variables": "region,sex", "counts": "yes"}
        assert ada.post(f"{address}/turn", data=form, files=[("files", ("t.csv", SAFE))]).status_code == 303
        for name in ("Rita", "Otto"):
            assert act(office, name, address, "release") == 403
            assert act(office, name, address, "decide", decision="approve", words="Good.") == 303
        assert act(office, "Ada", address, "release") == 403
        assert act(office, "Olga", address, "release") == 303
        last = ada.get(address).text.partition(f'href="{address}/files/')[2].partition('"')[0]
        assert ada.get(f"{address}/files/{last}").content == SAFE
        assert ada.get(f"{address}/files/{file}").status_code == 403  # the first turn was never released
        assert act(office, "Rita", address, "decide", decision="refuse", words="Too late.") == 403
    said = [
        (entry.subject, entry.action, entry.decision, entry.rule)
        for entry in office.log.entries
        if hasattr(entry, "about")
    ]
    about = [one for one in said if one[1] in (LOG, "output.release")]
    assert about[:2] == [("Rita", LOG, "denied", "return"), ("Otto", LOG, "granted", "approve")]
    assert about[-1] == ("Olga", "output.release", "granted", None)
    assert all(entry.content for entry in office.log.entries if getattr(entry, "action", "") == LOG)


def test_a_checker_decides_nothing_of_the_own_project(office: Office, projects: dict[str, int]) -> None:
    address = hand_in(office, projects["Reviewer's own"]).headers["location"]
    with client(office, "Rita") as rita:
        page = rita.get(address).text
        assert "your own project" in page
        assert "Your decision" not in page
    assert act(office, "Rita", address, "decide", decision="approve", words="Mine.") == 403
    assert office.log.entries[-1].rule == "own"
    assert office.store.outputs.find(int(address.rpartition("/")[2])).decided() == {}


def test_one_checker_is_not_two(office: Office, projects: dict[str, int]) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    assert act(office, "Otto", address, "decide", decision="approve", words="Good.") == 303
    assert act(office, "Otto", address, "decide", decision="approve", words="Good.") == 403
    assert act(office, "Otto", address, "release") == 403
    assert act(office, "Olga", address, "decide", decision="approve", words="I am no checker.") == 403


def released(office: Office, address: str) -> int:
    for name in ("Rita", "Otto"):
        assert act(office, name, address, "decide", decision="approve", words="Good.") == 303
    return act(office, "Olga", address, "release")


def test_nobody_approves_files_that_came_after_those_they_looked_at(office: Office, projects: dict[str, int]) -> None:
    """A page of the first turn lies open while the analyst hands in the next one: its form must not count."""
    address = hand_in(office, projects["Wages"]).headers["location"]
    with client(office, "Rita") as rita, client(office, "Ada") as ada:
        old = rita.get(address).text.partition('name="seen" value="')[2].partition('"')[0]
        number = int(address.rpartition("/")[2])
        for name in ("Rita", "Otto"):
            assert act(office, name, address, "decide", decision="return", words="Round it.") == 303
        form = {"kind": "table", "variables": "region,sex", "counts": "yes"}
        other = SAFE.replace(b"N,F,14", b"N,F,13")
        assert ada.post(f"{address}/turn", data=form, files=[("files", ("t.csv", other))]).status_code == 303
        for seen in (old, "", old.replace("1:", "2:", 1)):
            decision = {"decision": "approve", "words": "Good.", "seen": seen}
            assert rita.post(f"{address}/decide", data=decision).status_code == 409
        assert office.store.outputs.find(number).decided() == {}
        with pytest.raises(Denied):
            office.store.outputs.decide(number, office.numbers["Otto"], "approve", "Good.", 1)


def test_who_joins_the_project_after_approving_counts_no_longer(office: Office, projects: dict[str, int]) -> None:
    later = int(time()) + 86_400
    number = office.store.projects.request("Joined", office.numbers["Ada"], licence="1", expires=later)
    office.store.projects.set_state(number, "active")
    address = hand_in(office, number).headers["location"]
    for name in ("Rita", "Otto"):
        assert act(office, name, address, "decide", decision="approve", words="Good.") == 303
    office.store.projects.add_member(number, office.numbers["Otto"])
    assert act(office, "Olga", address, "release") == 403
    assert office.log.entries[-1].rule == "four-eyes"


def test_two_outputs_that_are_checked_at_the_same_time_are_held_against_each_other(
    office: Office, projects: dict[str, int]
) -> None:
    """Neither was released when the other was handed in: what they tell together shows when one of them is."""
    table = b"place,value\nTotal,90\nE,50\nW,40\n"
    one, two = (
        hand_in(office, projects["Wages"], content=content, variables="place").headers["location"]
        for content in (table, table.replace(b"90", b"89").replace(b"50", b"49"))
    )
    for address in (one, two):
        for name in ("Rita", "Otto"):
            assert act(office, name, address, "decide", decision="approve", words="Good.") == 303
    assert act(office, "Olga", one, "release") == 303
    with client(office, "Olga") as olga:
        assert "Beside what was released since" in olga.get(two).text
    assert act(office, "Olga", two, "release") == 303
    row = office.store.outputs.find(int(two.rpartition("/")[2]))
    assert (row.state, office.log.entries[-1].rule) == ("returned", "differencing")
    assert "2 cells differ by fewer than 3" in row.remarks[-1].words
    with pytest.raises(Denied):
        office.store.outputs.release(row.id, office.numbers["Olga"], 1, frozenset())


def test_an_analyst_withdraws_what_was_not_released_and_nobody_else_does(
    office: Office, projects: dict[str, int]
) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    assert act(office, "Otto", address, "withdraw") == 403
    assert act(office, "Ada", address, "withdraw") == 303
    assert office.store.outputs.find(int(address.rpartition("/")[2])).state == "withdrawn"
    assert act(office, "Rita", address, "decide", decision="approve", words="Good.") == 403
    assert act(office, "Ada", address, "withdraw") == 403


@pytest.mark.parametrize("name", ["Ben", "Emil", "Zoe", "Mara", "Nora", ""])
def test_others_see_nothing(office: Office, projects: dict[str, int], name: str) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    reply = httpx.get(office.origin + address, headers={"x-test-certificate": name})
    assert reply.status_code == 403
    assert "Wages" not in reply.text


@pytest.mark.parametrize("project", ["Old", "Reviewer's own"])
def test_only_members_of_active_projects_hand_in(office: Office, projects: dict[str, int], project: str) -> None:
    assert hand_in(office, projects[project], "Ben").status_code == 403
    if project == "Old":
        assert hand_in(office, projects[project]).status_code == 403


def test_a_project_that_expired_hands_nothing_in(office: Office) -> None:
    number = office.store.projects.request("Expired", office.numbers["Ada"], licence="1", expires=int(time()) - 5)
    office.store.projects.set_state(number, "active")
    reply = hand_in(office, number)
    assert reply.status_code == 403
    assert "not active" in reply.text


def test_an_output_that_differs_a_little_from_a_released_one_says_so(office: Office, projects: dict[str, int]) -> None:
    assert released(office, hand_in(office, projects["Wages"]).headers["location"]) == 303
    near = hand_in(office, projects["Reviewer's own"], content=SAFE.replace(b"N,F,14\nN,M,16", b"N,F,15\nN,M,15"))
    with client(office, "Otto") as otto:
        assert "differ by fewer than 3" in otto.get(near.headers["location"]).text


def test_an_upload_of_a_gibibyte_is_refused_unread(office: Office, projects: dict[str, int]) -> None:
    sent, before_it = 0, office.store.outputs.listed()

    def body() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(1024):
            sent += 2**20
            yield bytes(2**20)

    kind = {"content-type": "multipart/form-data; boundary=x"}
    with client(office, "Ada") as ada:
        try:
            status = ada.post("/outputs/new", content=body(), headers=kind).status_code
        except httpx.TransportError:
            status = 413  # the connection was closed while it was still sending
    assert status == 413
    assert sent < 200 * 2**20
    assert office.store.outputs.listed() == before_it


def test_an_upload_that_says_that_it_is_large_is_refused_before_its_first_byte(office: Office) -> None:
    host, _, port = office.origin.removeprefix("http://").partition(":")
    lines = (
        "POST /outputs/new HTTP/1.1",
        f"Host: {host}",
        "x-test-certificate: Ada",
        "content-type: multipart/form-data; boundary=x",
        f"content-length: {2**30}",
    )
    with socket.create_connection((host, int(port)), timeout=10) as link:
        link.sendall("\r\n".join([*lines, "", ""]).encode())
        assert b" 413 " in link.recv(200)


def test_a_form_of_another_page_hands_nothing_in(office: Office, projects: dict[str, int]) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    form = {"decision": "approve", "words": "Good."}
    headers = {"x-test-certificate": "Otto", "origin": "https://evil.example.org"}
    assert httpx.post(f"{office.origin}{address}/decide", data=form, headers=headers).status_code == 403
    assert office.store.outputs.find(int(address.rpartition("/")[2])).decided() == {}


def test_nothing_is_decided_when_the_log_does_not_answer(office: Office, projects: dict[str, int]) -> None:
    address = hand_in(office, projects["Wages"]).headers["location"]
    office.log.broken = True
    try:
        assert act(office, "Otto", address, "decide", decision="approve", words="Good.") == 503
    finally:
        office.log.broken = False
    assert office.store.outputs.find(int(address.rpartition("/")[2])).decided() == {}


@pytest.mark.parametrize("file", ["..%2fx.csv", "a/../../x.csv", "x.zip"])
def test_tricks_with_names_leave_nothing_behind(office: Office, projects: dict[str, int], file: str) -> None:
    many = len(office.store.outputs.listed())
    reply: Any = hand_in(office, projects["Wages"], file=file)
    assert reply.status_code in (303, 400)
    if reply.status_code == 303:  # a name with a percent sign is a plain name
        assert "%" in file
    else:
        assert len(office.store.outputs.listed()) == many
