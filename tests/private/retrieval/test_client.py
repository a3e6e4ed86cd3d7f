"""Client and servers: cells come back checked, in one process and over the loopback with and without TLS."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import json
import socket
import ssl
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

import discreet as ds
from discreet.cli import main
from discreet.errors import ParameterError, VerificationError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval import database as database_module
from discreet.private.retrieval import web
from discreet.private.retrieval.channels import OverHttp
from discreet.private.retrieval.client import RetrievalClient, retrieve
from discreet.private.retrieval.database import build_database
from discreet.private.retrieval.frames import Transcript
from discreet.private.retrieval.lattice_parameters import VERSIONS
from discreet.private.retrieval.pages import hashed
from discreet.private.retrieval.public_tables import key_of
from discreet.private.retrieval.server import RetrievalServer
from discreet.private.retrieval.simulation import SIMULATED, simulate
from discreet.private.retrieval.statements import statements_table
from discreet.private.retrieval.two_servers import TwoServerXor
from discreet.private.retrieval.web import require_safe_address, web_server
from discreet.trust import make_keys
from tests.private.retrieval import observer

SHORT = 64
ROWS = [(f"a{i}", f"b{j}", "" if (i + j) % 7 == 0 else str(i * 100 + j)) for i in range(30) for j in range(20)]


def write_public(folder, rows=ROWS):
    public = folder / "public"
    public.mkdir(parents=True)
    text = "".join(f"{a},{b},{value},{'V' if value else 'X'}\n" for a, b, value in rows)
    (public / "counts.csv").write_text(f"area,band,value,status\n{text}", encoding="utf-8")
    return public


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pir")
    return build_database(write_public(folder), folder / "pir", page_bytes=256, insecure_dimension=SHORT)


def client_of(made, scheme, **options):
    servers = [RetrievalServer(made), RetrievalServer(made)] if scheme == "xor" else [RetrievalServer(made)]
    return RetrievalClient(servers, scheme=scheme, insecure_dimension=SHORT, **options)


@pytest.mark.parametrize("scheme", ["simplepir", "xor", "download"])
def test_cells_come_back_as_published(made, scheme):
    client = client_of(made, scheme)
    assert client.get("counts", "a3", "b5").value == 305
    assert client.get("counts", band="b5", area="a3").text == "305"
    withheld = client.get(None, "a3", "b4")
    assert (withheld.value, withheld.status) == (None, "X")
    many = client.get_many([(a, b) for a, b, _ in ROWS[::40]])
    assert [cell.text for cell in many] == [value for _, _, value in ROWS[::40]]
    with pytest.raises(ProtocolError, match="No such cell: The table 'counts' has no cell 'a3', 'b99'"):
        client.get("counts", "a3", "b99")


def test_small_databases_are_downloaded_unless_told_otherwise(made, monkeypatch):
    assert client_of(made, "auto").scheme == "download"
    monkeypatch.setattr("discreet.private.retrieval.client.WORTH_HIDING", 10)
    assert client_of(made, "auto").scheme == "simplepir"
    both = [RetrievalServer(made), RetrievalServer(made)]
    assert RetrievalClient(both, insecure_dimension=SHORT).scheme == "xor"


def test_values_with_decimals_are_numbers():
    assert ds.private.PublishedCell("t", ("a",), "1.5", "V").value == 1.5


@pytest.mark.parametrize("scheme", ["simplepir", "xor"])
def test_transcripts_show_a_server_the_same_whatever_is_looked_up(made, scheme):
    """A present cell, a withheld one and one that is not there: same messages, same lengths."""
    shapes = set()
    questions: list[bytes] = []
    for codes in (("a3", "b5"), ("a3", "b4"), ("a0", "b0"), ("x", "y")):
        seen = Transcript()
        client = client_of(made, scheme, transcript=seen)
        with contextlib.suppress(ProtocolError):
            client.get("counts", *codes)
        shapes.add(tuple((one.sender, one.receiver, one.what, len(one.body)) for one in seen.messages))
        questions += [one.body for one in seen.messages if "question" in one.what and one.receiver == "server 1"]
        place, tag = hashed(key_of("counts", codes), made.manifest.layout.salt)
        sent = b"|".join(one.body for one in seen.messages if one.sender == "client")
        assert not any(one in sent for one in (key_of("counts", codes), tag, place.to_bytes(8, "little")))
    assert len(shapes) == 1
    assert observer.lengths(questions) == observer.heads(questions) == observer.repeats(questions) == []


def test_the_same_cell_twice_is_asked_twice(made):
    seen = Transcript()
    client = client_of(made, "xor", transcript=seen)
    client.get_many([("a3", "b5"), ("a3", "b5")])
    (question,) = [one.body for one in seen.messages if one.receiver == "server 1" and "question" in one.what]
    body = question[24:]
    half = len(body) // 2
    assert body[:half] != body[half:]


# ---- wrong answers, wrong versions ---------------------------------------------------------------------------------


class Lying(RetrievalServer):
    """A server that changes some bytes of what it says."""

    def __init__(self, database, part):
        super().__init__(database)
        self.lies_in = part

    def part(self, name):
        return self.changed(super().part(name)) if name == self.lies_in else super().part(name)

    def answer(self, message):
        return self.changed(super().answer(message)) if self.lies_in == "answer" else super().answer(message)

    @staticmethod
    def changed(data):
        middle = 24 + (len(data) - 24) // 2
        return data[:24] + bytes(byte ^ 255 for byte in data[24:middle]) + data[middle:]


@pytest.mark.parametrize(
    ("scheme", "part", "words"),
    [
        ("simplepir", "answer", "Tampered: What came back is not what was published"),
        ("simplepir", "hint", "Tampered: The hint is not the one that the manifest names"),
        ("simplepir", "nodes", "Tampered: The hashes of columns are not those of the root"),
        ("download", "pages", "Tampered: What came back is not what was published"),
        ("download", "manifest", "Wrong version: The manifest"),
    ],
)
def test_a_server_that_lies_is_found_out(made, scheme, part, words):
    with pytest.raises(ProtocolError, match=words):
        RetrievalClient([Lying(made, part)], scheme=scheme, insecure_dimension=SHORT).get_many(
            [r[:2] for r in ROWS[:60]]
        )


@pytest.mark.parametrize("fields", [["status"], ["value", "status", "secret"], ["value", "value", "status"], []])
def test_a_manifest_with_strange_fields_is_refused(made, fields):
    told = json.loads(made.manifest_text)
    told["tables"][0]["fields"] = fields
    with pytest.raises(ProtocolError, match="Wrong version"):
        database_module.read_manifest(json.dumps(told).encode())


def test_a_record_with_other_fields_than_the_manifest_names_is_refused(made):
    class Renaming(RetrievalServer):
        def part(self, name):
            told = super().part(name)
            return told.replace(b'["value","status"]', b'["value","lower","status"]') if name == "manifest" else told

    client = RetrievalClient([Renaming(made)], scheme="download", insecure_dimension=SHORT)
    with pytest.raises(ProtocolError, match="Tampered: A record has other fields"):
        client.get_many([ROWS[0][:2]])


def test_one_of_two_servers_that_lies_is_found_out(made):
    with pytest.raises(ProtocolError, match="Tampered: What came back"):
        retrieve_short([RetrievalServer(made), Lying(made, "answer")])


def test_a_changed_page_is_found_even_where_hint_and_answer_agree(made, tmp_path):
    """Another database under the same hashes: what comes back is decoded well and does not belong to the root."""
    other = [(a, b, "7" if value else "") for a, b, value in ROWS]
    changed = build_database(write_public(tmp_path, other), tmp_path / "p", page_bytes=256, insecure_dimension=SHORT)
    text = json.loads(changed.manifest_text)
    text["root"] = made.manifest.root
    (changed.folder / "manifest.json").write_bytes(json.dumps(text).encode())
    if text["columns"] == made.manifest.columns:
        (changed.folder / "nodes.bin").write_bytes(made.part("nodes.bin"))
    server = RetrievalServer(database_module.Database(changed.folder, (changed.folder / "manifest.json").read_bytes()))
    with pytest.raises(ProtocolError, match="Tampered"):
        RetrievalClient([server], scheme="simplepir", insecure_dimension=SHORT).get("counts", "a3", "b5")


def test_a_question_for_another_version_is_refused_and_hints_are_updated(made, tmp_path):
    rows = [(a, b, "999999" if (a, b) == ("a3", "b5") else value) for a, b, value in ROWS]
    public = write_public(tmp_path, [(a, b, value[:4]) for a, b, value in rows])
    new = build_database(public, tmp_path / "new", previous=made.folder, insecure_dimension=SHORT)
    assert new.manifest.before == made.identity.hex()
    seen = Transcript()
    server = RetrievalServer(made)
    client = RetrievalClient([server], scheme="simplepir", insecure_dimension=SHORT, transcript=seen)
    assert client.get("counts", "a3", "b5").text == "305"
    assert not client.refresh()
    server.database = new
    with pytest.raises(ProtocolError, match="Other database: The question is for another version"):
        client.get("counts", "a3", "b5")
    assert client.refresh()
    assert client.get("counts", "a3", "b5").text == "9999"
    assert client.get("counts", "a4", "b5").text == "405"
    assert [one.what for one in seen.messages].count("hint") == 1
    changes = [len(one.body) for one in seen.messages if one.what == "changes"]
    hint = [len(one.body) for one in seen.messages if one.what == "hint"]
    assert changes[0] < hint[0] / 10


def test_two_servers_with_different_databases_are_refused(made, tmp_path):
    other = build_database(write_public(tmp_path), tmp_path / "p", page_bytes=256, insecure_dimension=SHORT)
    with pytest.raises(ProtocolError, match="Other database: The two servers have different databases"):
        retrieve_short([RetrievalServer(made), RetrievalServer(other)])


def retrieve_short(servers):
    return RetrievalClient(servers, scheme="xor", insecure_dimension=SHORT).get("counts", "a3", "b5")


def test_a_server_that_asks_for_short_secrets_is_refused(made):
    with pytest.raises(ProtocolError, match="Key too short: The database asks for secrets of length 64; 'lwe-1'"):
        retrieve(RetrievalServer(made), "counts", ("a3", "b5"), scheme="simplepir")


def test_wrong_words_are_refused(made, tmp_path):
    client = client_of(made, "download")
    with pytest.raises(ParameterError, match="There is no table 'sums'"):
        client.get("sums", "a", "b")
    with pytest.raises(ParameterError, match="The table 'counts' is by 'area', 'band', not by 'area'"):
        client.get("counts", area="a3")
    with pytest.raises(ParameterError, match="Give one code for each, in that order"):
        client.get("counts", "a3")
    with pytest.raises(ParameterError, match="The scheme 'xor' needs two servers"):
        RetrievalClient([RetrievalServer(made)], scheme="xor", insecure_dimension=SHORT)
    with pytest.raises(ParameterError, match="There is no scheme 'magic'"):
        RetrievalClient([RetrievalServer(made)], scheme="magic", insecure_dimension=SHORT)
    with pytest.raises(ParameterError, match="0 servers are given"):
        RetrievalClient([])
    plain = build_database(write_public(tmp_path), tmp_path / "p", hint=False)
    with pytest.raises(ProtocolError, match="No such scheme: The database was built without a hint"):
        RetrievalClient([RetrievalServer(plain)], scheme="simplepir").get("counts", "a3", "b5")
    with pytest.raises(ProtocolError, match="Other database: The database has no part 'custodian'"):
        RetrievalServer(made).part("custodian")


def test_a_signed_manifest_is_checked(tmp_path):
    pytest.importorskip("cryptography")
    make_keys(tmp_path / "key")
    make_keys(tmp_path / "other")
    signed = build_database(write_public(tmp_path), tmp_path / "p", hint=False, signing_key=tmp_path / "key")
    server = RetrievalServer(signed)
    assert RetrievalClient([server], public_key=tmp_path / "key.pub").get("counts", "a3", "b5").value == 305
    with pytest.raises(VerificationError, match="The manifest of the database is not signed with this key"):
        RetrievalClient([server], public_key=tmp_path / "other.pub")
    (signed.folder / "manifest.sig").unlink()
    with pytest.raises(VerificationError, match="not signed with this key"):
        RetrievalClient([server], public_key=tmp_path / "key.pub")


# ---- over the loopback ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def listening(database, context=None):
    """A server on a free port of this machine, until the block ends."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    server = web_server(RetrievalServer(database, insecure_bits=512), host="127.0.0.1", port=port, ssl_context=context)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        for _ in range(2000):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                break
            thread.join(0.01)
        yield f"{'https' if context else 'http'}://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def address(made):
    with listening(made) as found:
        yield found


@pytest.mark.parametrize("scheme", ["simplepir", "xor", "download"])
def test_cells_come_back_over_the_loopback(address, made, scheme):
    with listening(made) as second:
        servers = [address, second] if scheme == "xor" else [address]
        client = RetrievalClient(servers, scheme=scheme, insecure_dimension=SHORT)
        assert [cell.text for cell in client.get_many([("a3", "b5"), ("a29", "b18")])] == ["305", "2918"]


def test_a_server_writes_nothing_of_questions_into_any_log(address, caplog, capfd):
    caplog.set_level(0)
    client = RetrievalClient([address], scheme="simplepir", insecure_dimension=SHORT)
    client.get("counts", "a3", "b5")
    with pytest.raises(ProtocolError):
        client.get("counts", "a3", "b99")
    written = caplog.text + "".join(capfd.readouterr())
    assert not any(word in written for word in ("a3", "b5", "b99", "question", "POST"))
    assert [one.name for one in caplog.records if one.name.startswith(("discreet", "uvicorn", "starlette"))] == []


def test_schemes_of_the_source_are_answered_over_the_loopback(address, made):
    gmpy2 = pytest.importorskip("gmpy2")
    from discreet.private.retrieval.selecting import LipmaaScheme

    assert gmpy2.version()
    pages = made.pages
    client = LipmaaScheme(*pages.shape, insecure_bits=512)
    asked = client.query(3)
    assert client.decode(asked, [OverHttp(address, "server").ask(asked.messages[0])]) == pages[3].tobytes()


def test_refusals_come_back_by_name(address):
    channel = OverHttp(address, "the server")
    with pytest.raises(ProtocolError, match="the server refused: This is not a message") as error:
        channel.ask(b"hello")
    assert error.value.kind == "wrong version"
    with pytest.raises(ProtocolError, match="Other database: the server refused: The database has no such part"):
        channel.part("custodian")
    with pytest.raises(ProtocolError, match="Other database: the server refused: The question is for another version"):
        channel.ask(TwoServerXor(4, 8).query(1).messages[0])
    with pytest.raises(ProtocolError, match=r"Party unreachable: .* answered with status 404"):
        channel._request("GET", "/nothing")


def test_nobody_who_answers_is_a_named_error():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(ProtocolError, match="Party unreachable: server 1 did not answer"):
            RetrievalClient([f"http://127.0.0.1:{port}"])


def test_a_server_that_hangs_up_or_says_nothing_is_a_named_error(made):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        channel = OverHttp(f"http://127.0.0.1:{silent.getsockname()[1]}", "the server", seconds=0.2)
        with pytest.raises(ProtocolError, match="Party unreachable: the server did not answer"):
            channel.part("manifest")


def test_questions_that_are_too_long_are_not_read(made, monkeypatch):
    monkeypatch.setattr(RetrievalServer, "longest_question", lambda _: 100)
    with listening(made) as address, pytest.raises(ProtocolError, match=r"Wrong length: .* The question is too long"):
        OverHttp(address, "server").ask(b"x" * 200)


def test_a_server_that_has_too_much_to_do_says_so(made, monkeypatch):
    monkeypatch.setattr(web, "WAITING", -1)
    with listening(made) as address, pytest.raises(ProtocolError, match=r"Busy: .* Too many questions wait"):
        OverHttp(address, "server").ask(b"x")


def self_signed(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "retrieval test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"


def test_cells_come_back_over_tls_and_strangers_are_not_trusted(made, tmp_path):
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with listening(made, context) as address:
        client = RetrievalClient([address], scheme="simplepir", ssl_context=trusting, insecure_dimension=SHORT)
        assert client.get("counts", "a3", "b5").value == 305
        with pytest.raises(ProtocolError, match="Party unreachable: server 1 did not answer"):
            RetrievalClient([address])


def test_other_machines_are_reached_by_tls_only():
    with pytest.raises(ParameterError, match=r"office\.example would be asked without TLS"):
        OverHttp("http://office.example:80", "server")
    with pytest.raises(ParameterError, match="is no address of a server"):
        OverHttp("office.example", "server")
    for host in ("0.0.0.0", "10.1.2.3", "office.example"):
        with pytest.raises(ParameterError, match="can be reached by other machines, and there is no TLS"):
            require_safe_address(host, None)
    for host in ("127.0.0.1", "::1", "localhost"):
        require_safe_address(host, None)


# ---- the command line, simulations ----------------------------------------------------------------------------------


def run(*words):
    return CliRunner().invoke(main, ["pir", *map(str, words)])


def test_build_advise_and_get_by_command(tmp_path):
    public = write_public(tmp_path)
    done = run("build", public, tmp_path / "pir", "--page-bytes", 256, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["records"] == 600
    done = run("advise", tmp_path / "pir")
    assert done.output.startswith("Download it: the whole database has")
    done = run("advise", "--entries", 262_144, "--entry-bytes", 4096, "--queries", 1000, "--json")
    assert json.loads(done.output)["best"] == "simplepir"
    assert run("advise").exit_code == 2
    with listening(database_module.load_database(tmp_path / "pir")) as address:
        done = run("get", "a3,b5", "a3,b4", "--server", address, "--scheme", "simplepir")
        assert done.exit_code == 0, done.output
        assert done.output == "a3,b5: 305 (V)\na3,b4: withheld (X)\n"
        assert run("get", '"a3","b5"', "--server", address).output == "a3,b5: 305 (V)\n"
        done = run("get", "a3,b99", "--server", address, "--json")
        assert done.exit_code == 9
    done = run("serve", tmp_path / "pir", "--host", "0.0.0.0")
    assert done.exit_code == 2
    assert run("serve", tmp_path / "pir", "--certificate", "x").exit_code == 2
    assert run("build", public, tmp_path / "pir").exit_code == 6


@pytest.mark.parametrize("scheme", SIMULATED)
def test_a_simulation_gives_the_entry_and_every_message(scheme):
    options = {"xor": {}, "simplepir": {"insecure_dimension": 16}}.get(scheme, {"insecure_bits": 512})
    if scheme not in ("xor", "simplepir"):
        pytest.importorskip("gmpy2")
    done = simulate([b"one", b"three", b"two", b"x"], 1, scheme, **options)
    assert done.entry == b"three"
    questions = [one for one in done.transcript.messages if one.what == "question"]
    assert len(questions) == (2 if scheme == "xor" else 1)
    assert done.bytes_up == sum(len(one.body) for one in questions)
    assert done.bytes_down > 0
    with pytest.raises(ParameterError, match="There is no scheme 'magic'"):
        simulate([b"a"], 0, "magic")


def test_the_page_shows_the_statements():
    page = Path(__file__).parents[3] / "docs" / "how-to" / "private-retrieval.md"
    assert statements_table() in page.read_text(encoding="utf-8")
    chosen = VERSIONS["lwe-1"]
    (told,) = [one.assumption for one in ds.private.statements() if one.scheme == "simplepir"]
    assert f"n = {chosen.dimension}" in told
    assert f"σ = {chosen.deviation:.0f}" in told
    assert f"2^{chosen.estimate().core_bits:.0f}" in told


def test_statements_name_every_scheme_that_can_be_asked():
    named = {one.scheme for one in ds.private.statements()}
    assert named == {*SIMULATED, "sum", "download"}
    assert all(all(vars(one).values()) for one in ds.private.statements())
