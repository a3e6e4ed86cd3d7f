"""What ``discreet ca list`` shows of an authority."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.trust.authority import Authority
    from discreet.trust.certificate_index import IndexedCertificate

SOON = timedelta(days=30)
"""What ends within this time is marked."""


def described(authority: Authority, state: str | None, expiring: int | None) -> dict[str, Any]:
    """Certificates, requests, authorities and lists as plain data; no key, no certificate itself."""
    index, now = authority.index, authority.clock()
    chosen = authority.expiring(expiring) if expiring is not None else index.certificates
    waiting = [one for one in index.requests if not one.serial]
    ends = [("root list", index.root_crl.next_update)]
    ends += [(f"issuing authority {level.number}", level.not_after) for level in index.issuing]
    ends += [(f"list {level.number}", level.crl.next_update) for level in index.issuing if level.not_after > now]
    return {
        "name": index.name,
        "root_key": index.shares or ("on a token" if index.root_key.startswith("pkcs11:") else "in the folder"),
        "certificates": [_certificate(one, now) for one in chosen if state in (None, one.state)],
        "requests": [
            {"number": one.number, "purpose": one.purpose, "name": one.holder.name, "approved_by": one.approved_by}
            for one in waiting
        ],
        "ends": [{"what": what, "time": time.isoformat(), "in_time": time > now} for what, time in ends if time],
    }


def shown(found: dict[str, Any]) -> str:
    """The same for people."""
    lines = [f"{found['name']}: root key: {found['root_key']}."]
    for one in found["certificates"]:
        note = f" ({one['reason']})" if one["reason"] else ""
        soon = "  ends soon" if one["soon"] else ""
        known = one["email"] or ", ".join((*one["hosts"], *one["uris"]))
        lines.append(
            f"{one['serial']:<40}  {one['purpose']:<8}{one['state']}{note:<10}  until {one['not_after'][:10]}{soon}  "
            f"{one['name']} <{known}>"
        )
    if not found["certificates"]:
        lines.append("No certificates.")
    for one in found["requests"]:
        lines.append(f"Request {one['number']} waits: {one['purpose']}, {one['name']}, by {one['approved_by']}")
    late = [one["what"] for one in found["ends"] if not one["in_time"]]
    if late:
        lines.append(f"EXPIRED: {', '.join(late)}")
    lines += [f"{one['what'].capitalize()} ends {one['time'][:16].replace('T', ' ')} UTC" for one in found["ends"]]
    return "\n".join(lines)


def _certificate(one: IndexedCertificate, now: datetime) -> dict[str, Any]:
    ended = one.not_after <= now
    return {
        "serial": one.serial,
        "purpose": one.purpose,
        "state": "expired" if ended and one.state == "valid" else one.state,
        "reason": one.reason,
        "not_after": one.not_after.isoformat(),
        "soon": one.state == "valid" and not ended and one.not_after <= now + SOON,
        "name": one.holder.name,
        "email": one.holder.email,
        "uris": list(one.holder.uris),
        "hosts": list(one.holder.hosts),
        "events": [
            {"time": done.time.isoformat(), "what": done.what, "by": done.by, "reason": done.reason}
            for done in one.events
        ],
    }
