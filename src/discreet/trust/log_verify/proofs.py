"""Proofs about a log, judged without the log: a second party needs the proof, the log's public key and its own head."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InputError, counted
from discreet.trust.log_verify.lines import NotALine, ReadHead, is_count, is_digest, whole
from discreet.trust.log_verify.merkle import continues, leads_to_root
from discreet.trust.log_verify.verdict import LogFault, LogVerdict
from discreet.trust.signature import PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MOST_NODES = 128


def check_proof(data: bytes, public_key: str | Path, *, heads: Iterable[bytes] = ()) -> LogVerdict:
    """Judge a proof of inclusion or consistency.

    Parameters
    ----------
    data
        The proof, as ``discreet log prove`` printed it.
    public_key
        The log's public key.
    heads
        Heads that the judge kept: each must be one of those that the proof is about.
    """
    return judge_proof(data, PublicKey.from_file(public_key).key, heads)


def judge_proof(data: bytes, key: Ed25519PublicKey, heads: Iterable[bytes] = ()) -> LogVerdict:
    """Judge a proof with a key that was read before."""
    verdict = LogVerdict()
    try:
        value = whole(data.rstrip(b"\r\n"))
        if set(value) == {"inclusion"}:
            about = _inclusion(value["inclusion"], key, verdict)
        elif set(value) == {"consistency"}:
            about = _consistency(value["consistency"], key, verdict)
        else:
            raise InputError(
                "The file holds no proof about a log.", hint="Give a file that discreet log prove has printed."
            )
        kept = [ReadHead.of(whole(one.rstrip(b"\r\n")), key) for one in heads]
    except NotALine as error:
        verdict.faults.append(LogFault("changed", "the proof or a head", str(error)))
        return verdict
    for head in kept:
        if not any((head.log, head.size, head.root) == (one.log, one.size, one.root) for one in about):
            fork = any((head.log, head.size) == (one.log, one.size) for one in about)
            words = "two histories of this size were signed" if fork else "the proof is about other heads"
            where = f"the kept head of {counted(head.size, 'entry')}"
            verdict.faults.append(LogFault("fork" if fork else "foreign", where, words))
    verdict.log = about[-1].log
    verdict.entries = about[-1].size
    return verdict


def compare_heads(first: ReadHead, second: ReadHead) -> LogFault | None:
    """What two signed heads say alone: a fork, where they have one size and two roots."""
    if first.log == second.log and first.size == second.size and first.root != second.root:
        return LogFault("fork", f"size {first.size:,}", "two heads of one size were signed")
    return None


def _nodes(value: Any) -> list[bytes]:
    if not isinstance(value, list) or len(value) > MOST_NODES or not all(is_digest(node) for node in value):
        raise NotALine("its path cannot be")
    return [bytes.fromhex(node) for node in value]


def _inclusion(value: Any, key: Ed25519PublicKey, verdict: LogVerdict) -> list[ReadHead]:
    if not isinstance(value, dict) or set(value) != {"head", "leaf", "path", "seq"}:
        raise NotALine("it has other parts than a proof")
    head, seq = ReadHead.of(value["head"], key), value["seq"]
    if not is_count(seq) or not is_digest(value["leaf"]):
        raise NotALine("a part of it cannot be")
    leaf, path = bytes.fromhex(value["leaf"]), _nodes(value["path"])
    if leads_to_root(leaf, seq - 1, head.size, path, bytes.fromhex(head.root)):
        verdict.proved.append(f"entry {seq:,} is in the log of {counted(head.size, 'entry')} that the head signs")
    else:
        verdict.faults.append(LogFault("changed", f"entry {seq:,}", "the path does not lead to the signed root"))
    return [head]


def _consistency(value: Any, key: Ed25519PublicKey, verdict: LogVerdict) -> list[ReadHead]:
    if not isinstance(value, dict) or set(value) != {"first", "path", "second"}:
        raise NotALine("it has other parts than a proof")
    first, second = ReadHead.of(value["first"], key), ReadHead.of(value["second"], key)
    path = _nodes(value["path"])
    fork = compare_heads(first, second)
    if first.log != second.log:
        verdict.faults.append(LogFault("foreign", "the heads", "they are of two logs"))
    elif fork is not None:
        verdict.faults.append(fork)
    elif not continues(first.size, second.size, path, bytes.fromhex(first.root), bytes.fromhex(second.root)):
        verdict.faults.append(LogFault("fork", "the heads", "the path does not show that one continues the other"))
    else:
        both = f"{counted(second.size, 'entry')} begins with the one of {counted(first.size, 'entry')}"
        verdict.proved.append(f"the log of {both}: nothing was changed or removed between the heads")
    return [first, second]
