"""The root key needs as many custodians as were agreed on; one fewer cannot do anything."""

from __future__ import annotations

from itertools import combinations

import pytest

from discreet.errors import InputError, OutputError, ParameterError
from discreet.trust.authority import Authority
from tests.trust.house import House

pytest.importorskip("cryptography")
pytest.importorskip("shamir_mnemonic")


@pytest.fixture
def house(tmp_path) -> House:
    return House(tmp_path)


def split(house, needed, shares):
    files = [house.place / f"share-{number}" for number in range(shares)]
    house.ca.split(needed, files, by="Otto")
    return files


def test_any_three_of_five_are_the_key_and_no_two_are(house):
    files = split(house, 3, 5)
    assert not (house.ca.folder / "root.key").exists()
    for some in combinations(files, 3):
        house.ca.publish_lists(root=True, shares=some)
    for few in combinations(files, 2):
        with pytest.raises(InputError, match="2 different shares of the root key given, and 3 are needed"):
            house.ca.publish_lists(root=True, shares=few)
    with pytest.raises(InputError, match="1 different share "):
        house.ca.publish_lists(root=True, shares=[files[0]] * 3)
    house.ca.publish_lists(root=True, shares=files)  # more than needed do no harm


def test_without_shares_nothing_is_done_that_takes_the_root(house):
    split(house, 2, 3)
    before = house.ca.index
    for needs_root in (
        lambda: house.ca.publish_lists(root=True),
        lambda: house.ca.new_issuing(by="Otto"),
        lambda: house.ca.revoke_issuing(1, by="Otto"),
        lambda: house.ca.split(2, [house.place / "x", house.place / "y"], by="Otto"),
    ):
        with pytest.raises(InputError, match="any 2 of 3 shares are the key"):
            needs_root()
    assert house.ca.index == before
    house.issued()  # issuing goes on without the root
    house.ca.publish_lists()


def test_with_shares_a_new_issuing_authority_is_made(house):
    files = split(house, 2, 3)
    assert house.ca.new_issuing(by="Otto", shares=files[1:]) == 2
    house.issued()
    assert not (house.ca.folder / "root.key").exists()


def test_the_key_comes_back_for_a_new_split_and_old_shares_do_not_mix_with_new_ones(house):
    old = split(house, 2, 3)
    with pytest.raises(InputError, match="2 are needed"):
        house.ca.join(old[:1], by="Otto")
    house.ca.join(old[:2], by="Otto")
    assert (house.ca.folder / "root.key").stat().st_mode & 0o777 == 0o600
    new = [house.place / f"new-{number}" for number in range(4)]
    house.ca.split(3, new, by="Otto")
    with pytest.raises(InputError, match="not made together"):
        house.ca.publish_lists(root=True, shares=[old[0], *new[:2]])
    with pytest.raises(InputError, match="was split before"):
        house.ca.split(2, old, by="Otto")
    house.ca.publish_lists(root=True, shares=new[1:])
    house.ca.join(new, by="Otto")
    with pytest.raises(InputError, match="was not split"):
        house.ca.join(new, by="Otto")


def test_shares_of_another_house_are_refused(house, tmp_path):
    split(house, 2, 2)
    other = split(House(tmp_path / "other"), 2, 2)
    with pytest.raises(InputError, match="another root key"):
        house.ca.publish_lists(root=True, shares=other)


def test_a_mistyped_share_is_named_by_its_place_and_never_shown(house):
    files = split(house, 2, 2)
    text = files[1].read_text()
    words = text.rsplit("words: ", 1)[1].split()
    files[1].write_text(text.replace(words[9], "zebraic" if words[9] != "zebraic" else "other"))
    with pytest.raises(InputError, match="Share number 2 of those given is mistyped") as found:
        house.ca.publish_lists(root=True, shares=files)
    assert not set(words) & set(str(found.value).split())
    for bad in ("", "words: a b c", "discreet root key share 1\nwords: a\nwords: b\n", "x" * 9000):
        files[0].write_text(bad)
        with pytest.raises(InputError, match=r"holds no share|too large"):
            house.ca.publish_lists(root=True, shares=files)


@pytest.mark.parametrize(("needed", "shares"), [(1, 3), (0, 2), (4, 3), (2, 17), (2, 1)])
def test_a_split_that_protects_nothing_is_refused(house, needed, shares):
    with pytest.raises(ParameterError, match="not allowed"):
        split(house, needed, shares)
    assert (house.ca.folder / "root.key").exists()
    assert not list(house.place.glob("share-*"))


def test_a_share_is_never_written_over_a_file_and_the_key_stays_when_one_cannot_be_written(house):
    (house.place / "share-1").write_text("precious")
    with pytest.raises(OutputError, match="exists"):
        split(house, 2, 3)
    assert (house.place / "share-1").read_text() == "precious"
    assert not (house.place / "share-0").exists()
    assert (house.ca.folder / "root.key").exists()
    house.ca.publish_lists(root=True)


def test_only_its_owner_may_read_a_share(house):
    for path in split(house, 2, 3):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_root_key_that_an_interrupted_split_left_goes_with_the_next_change(house):
    key = (house.ca.folder / "root.key").read_bytes()
    split(house, 2, 2)
    (house.ca.folder / "root.key").write_bytes(key)
    Authority(house.ca.folder).publish_lists()
    assert not (house.ca.folder / "root.key").exists()
