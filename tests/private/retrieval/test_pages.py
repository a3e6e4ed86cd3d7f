"""Published tables in pages: every cell is found by its codes, pages lead to the root, only public files are read."""

from __future__ import annotations

import hashlib
import secrets

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as ds
from discreet.errors import InputError, OutputError, ParameterError
from discreet.private.problems import ProtocolError
from discreet.private.retrieval.database import about, build_database, load_database, read_hint, read_manifest
from discreet.private.retrieval.lattice import columns_of, make_hint
from discreet.private.retrieval.merkle import leaf_hash, node_hash, paths, root_of_path, tree_root
from discreet.private.retrieval.pages import choose_layout, fill_pages, hashed, hashed_all, root_of, seal_pages
from discreet.private.retrieval.public_tables import read_public_tables

# Certificate Transparency's own test set of eight leaves.
LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}


def plain_root(hashes):
    """RFC 6962, word by word."""
    if len(hashes) == 1:
        return hashes[0]
    split = 1
    while split * 2 < len(hashes):
        split *= 2
    return hashlib.sha256(b"\1" + plain_root(hashes[:split]) + plain_root(hashes[split:])).digest()


@pytest.mark.parametrize("count", ROOTS)
def test_roots_are_those_of_certificate_transparency(count):
    assert tree_root([leaf_hash(bytes.fromhex(leaf)) for leaf in LEAVES[:count]]).hex() == ROOTS[count]


@given(st.lists(st.binary(max_size=4), min_size=1, max_size=40))
def test_roots_are_those_of_the_rule(leaves):
    hashes = [leaf_hash(leaf) for leaf in leaves]
    assert tree_root(hashes) == plain_root(hashes)


@pytest.mark.parametrize("count", [1, 2, 4, 16])
def test_paths_lead_to_the_root_and_only_from_their_place(count):
    contents = [secrets.token_bytes(9) for _ in range(count)]
    hashes = [leaf_hash(content) for content in contents]
    root = tree_root(hashes)
    for place, (content, path) in enumerate(zip(contents, paths(hashes), strict=True)):
        assert root_of_path(content, place, path) == root
        assert root_of_path(content + b"x", place, path) != root
        assert count == 1 or root_of_path(content, place ^ 1, path) != root
    assert leaf_hash(hashes[0] + hashes[-1]) != node_hash(hashes[0], hashes[-1])


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400), st.sampled_from([256, 1024, 4096]), st.integers(1, 30))
def test_every_record_is_found_by_its_key_in_its_page(count, page_bytes, length):
    keys = [b"key %d" % number for number in range(count)]
    records = [(b"%d" % number).rjust(length, b".")[-length:] for number in range(count)]
    salt = bytes(16)
    places, tags = hashed_all(keys, salt)
    layout = choose_layout(places, length, page_bytes, salt)
    pages = fill_pages(layout, places, tags, records)
    nodes, root = seal_pages(layout, pages)
    assert root_of(nodes) == root == plain_root([leaf_hash(page[: layout.payload_bytes].tobytes()) for page in pages])
    for key, record in zip(keys, records, strict=True):
        place, tag = hashed(key, salt)
        number = place % layout.pages
        page = pages[number].tobytes()
        assert layout.found(page, tag) == record
        payload = layout.payload_bytes
        column, inside = divmod(number, layout.per_column)
        assert root_of_path(page[:payload], inside, page[payload:]) == nodes[32 * column : 32 * column + 32]
    assert layout.found(pages[0].tobytes(), bytes(15) + b"x") is None


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "out"
    table = ds.examples.small_table().assess(ds.PPercent(10))
    ds.protect(table, ds.Suppress()).save(folder)
    return folder


def copied(saved, folder, edit=lambda text: text):
    public = folder / "public"
    public.mkdir(parents=True)
    text = (saved / "public" / "turnover.csv").read_text(encoding="utf-8")
    (public / "turnover.csv").write_text(edit(text), encoding="utf-8")
    return public


def test_only_the_public_part_is_read(saved, tmp_path):
    public = copied(saved, tmp_path)
    made = build_database(public, tmp_path / "pir", insecure_dimension=16)
    assert made.manifest.records == 16
    whole = b"".join(path.read_bytes() for path in made.folder.iterdir())
    assert str(tmp_path).encode() not in whole
    assert read_public_tables(saved)[0].columns == read_public_tables(public)[0].columns


def test_a_database_says_what_it_is(saved, tmp_path):
    made = build_database(saved, tmp_path / "pir", page_bytes=256, insecure_dimension=16)
    told = about(made)
    assert (told["records"], told["tables"], told["updates"]) == (16, ["turnover"], None)
    assert told["bytes"] == (tmp_path / "pir" / "pages.bin").stat().st_size
    assert told["hint_bytes"] == (tmp_path / "pir" / "hint.bin").stat().st_size
    chosen = made.manifest.parameters
    fresh = make_hint(columns_of(made.pages, made.manifest.per_column), bytes.fromhex(made.manifest.seed), chosen)
    assert (read_hint(made) == fresh).all()
    other = build_database(saved, tmp_path / "other", page_bytes=256, hint=False)
    assert other.identity != made.identity
    assert not (tmp_path / "other" / "hint.bin").exists()


def test_a_new_version_keeps_what_did_not_change(saved, tmp_path):
    old = build_database(saved, tmp_path / "old", page_bytes=256, insecure_dimension=16)
    public = copied(saved, tmp_path / "new", lambda text: text.replace("food,East,60,V", "food,East,61,V"))
    new = build_database(public, tmp_path / "pir", previous=tmp_path / "old", insecure_dimension=16)
    assert new.manifest.before == old.identity.hex()
    assert new.manifest.root != old.manifest.root
    assert (new.pages != old.pages).any(axis=1).sum() <= old.manifest.per_column
    chosen = new.manifest.parameters
    fresh = make_hint(columns_of(new.pages, new.manifest.per_column), bytes.fromhex(new.manifest.seed), chosen)
    assert (read_hint(new) == fresh).all()


def test_a_new_version_that_does_not_fit_is_laid_out_anew(saved, tmp_path):
    build_database(saved, tmp_path / "old", page_bytes=256, insecure_dimension=16)
    public = copied(saved, tmp_path / "new", lambda text: text.replace("East,60,V", f"East,{6 * 10**30},V"))
    new = build_database(public, tmp_path / "pir", page_bytes=256, previous=tmp_path / "old", insecure_dimension=16)
    assert new.manifest.before == ""
    assert not (tmp_path / "pir" / "changes.bin").exists()


# ---- bad input ---------------------------------------------------------------------------------------------------


def test_folders_and_files_that_are_no_public_tables_are_refused(saved, tmp_path):
    with pytest.raises(InputError, match="There is no folder 'nothing'"):
        build_database(tmp_path / "nothing", tmp_path / "pir")
    with pytest.raises(InputError, match="is no saved release and not its public part"):
        build_database(saved / "custodian", tmp_path / "pir")
    (tmp_path / "empty" / "public").mkdir(parents=True)
    with pytest.raises(InputError, match=r"There is no public table \(csv\)"):
        build_database(tmp_path / "empty", tmp_path / "pir")
    for number, (text, words) in enumerate(
        [
            ("age,income\n5,3\n", "is no public table: it has the columns 'age', 'income'"),
            ("a,value,status\n", "The public tables have no cells"),
            ("a,value,status\nx,1,V\nx,2,V\n", "Two cells have the same table and codes"),
            ("a,value,status\nx,1\x1f,V\n", "has control characters"),
            ("a,value,status\nx,1\n", "cannot be read as csv"),
            ("", "cannot be read as csv"),
        ]
    ):
        public = tmp_path / str(number) / "public"
        public.mkdir(parents=True)
        (public / "t.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=words):
            build_database(public, tmp_path / "pir")
    assert not (tmp_path / "pir").exists()
    assert not list(tmp_path.glob(".pir-*"))


def test_a_database_is_never_written_over_and_pages_must_have_room(saved, tmp_path):
    (tmp_path / "pir").mkdir()
    with pytest.raises(OutputError, match="'pir' exists"):
        build_database(saved, tmp_path / "pir")
    with pytest.raises(OutputError, match="There is no folder to put 'pir' into"):
        build_database(saved, tmp_path / "no" / "pir")
    with pytest.raises(ParameterError, match="page_bytes=100 is not allowed"):
        build_database(saved, tmp_path / "a", page_bytes=100)
    with pytest.raises(ParameterError, match="A page of 64 bytes has no room for 4 records"):
        build_database(saved, tmp_path / "b", page_bytes=64)


def test_databases_that_were_changed_or_are_of_another_version_are_refused(saved, tmp_path):
    made = build_database(saved, tmp_path / "pir", insecure_dimension=16)
    text = made.manifest_text
    for wrong in (text.replace(b"retrieval-1", b"retrieval-9"), b"[]", text.replace(b'"columns":', b'"pillars":')):
        with pytest.raises(ProtocolError, match="Wrong version: The manifest"):
            read_manifest(wrong)
    for field, value in (("per_column", 3), ("columns", 0), ("page_bytes", 100), ("record_bytes", 10**9)):
        import json

        with pytest.raises(ProtocolError, match="The manifest contradicts itself"):
            read_manifest(json.dumps({**json.loads(text), field: value}).encode())
    nodes = made.folder / "nodes.bin"
    nodes.write_bytes(bytes(nodes.stat().st_size))
    with pytest.raises(InputError, match="The hashes in 'pir' are not those of its manifest"):
        load_database(made.folder)
    nodes.write_bytes(b"")
    with pytest.raises(InputError, match=r"The database in 'pir' is incomplete: nodes\.bin"):
        load_database(made.folder)
    with pytest.raises(InputError, match="has no database for private retrieval"):
        load_database(saved)


def test_many_cells_fill_pages_well(tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    rows = "".join(f"a{i},b{j},{i * j},V\n" for i in range(100) for j in range(200))
    (public / "t.csv").write_text(f"a,b,value,status\n{rows}", encoding="utf-8")
    made = build_database(public, tmp_path / "pir", hint=False)
    layout = made.manifest.layout
    assert made.manifest.records == 20_000
    assert 0.5 < made.manifest.records / (layout.pages * layout.slots) < 0.9
