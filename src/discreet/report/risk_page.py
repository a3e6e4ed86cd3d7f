"""The risk of one file of records as a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import NeedsError
from discreet.measures.risk_result import RecordRisk, RiskFinding
from discreet.report.attack_images import attacks_image
from discreet.report.page import render
from discreet.report.plots import UNSAFE, drawn
from discreet.report.record_risk import class_names
from discreet.report.words import percent, plain_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORST = 20
"""Sets of keys that are listed."""
SHARES = ((0.01, "up to 1 %"), (0.05, "1 to 5 %"), (0.1, "5 to 10 %"), (0.25, "10 to 25 %"), (0.5, "25 to 50 %"))


def risk_report(found: RecordRisk, *, title: str = "", public: bool = False) -> str:
    """The risk of a file of records as one HTML page that needs nothing else. It is for the custodian only.

    It holds numbers and names of columns, and no value of any record. The public one is of the rows of a release, which
    everybody can count; of what attackers with the original got it says classes only: in a small file a per cent is a
    number of original records.

    Parameters
    ----------
    found
        What :func:`discreet.risk` found.
    title
        Heading.
    public
        Whether the page may go out with the file.

    Examples
    --------
    >>> import discreet as ds, pyarrow as pa
    >>> people = pa.table({"age": ["old", "old", "young", "young"], "sex": ["f", "m", "m", "m"]})
    >>> page = risk_report(ds.risk(people, keys=["age", "sex"], k=2))
    >>> "Who can be recognised" in page
    True
    """
    if public and not found.released:
        raise NeedsError(
            "A public page on risk is about a release, and this is the risk of the original.",
            hint="Use ds.risk(release), or leave public=True out.",
        )
    keys = found.columns("keys")
    attacks = found.attacks if found.attacks is not None and found.attacks.attacks else None
    return render(
        "risk.html",
        title=title or "Who can be recognised in a file of records",
        public=public,
        rows=found.records,
        keys=list(found.question.keys),
        sensitive=list(found.question.sensitive),
        findings=[
            (one, plain_number(one.number), percent(one.number, found.records))
            for one in found.findings
            if not public or not _by_attack(found, one)
        ],
        facts=found.facts,
        histogram=_histogram(found),
        threshold=f"{found.question.threshold:g}",
        key_names=list(keys),
        key_rows=[_shown(row) for row in zip(*keys.values(), strict=True)],
        sets=[one for one in found.tables.worst()[:WORST] if one.records],
        size=found.tables.size,
        k=found.question.k,
        population=found.population,
        audit=attacks,
        attacks_image=None if attacks is None or public else attacks_image(attacks),
        classes=[] if attacks is None else [(one, share_class(one.share)) for one in attacks.findings],
        notes=list(found.notes),
    )


def share_class(share: float) -> str:
    """The class of a share of right guesses."""
    return next((words for end, words in SHARES if share <= end), "above 50 %")


def _by_attack(found: RecordRisk, finding: RiskFinding) -> bool:
    """Whether a finding comes from an attack with the original."""
    return found.attacks is not None and finding.measure in {one.attack for one in found.attacks.attacks}


def _shown(row: tuple[object, ...]) -> list[str]:
    """A line of the table of keys: its name, its share of scores, and counts."""
    name, share, *counts = row
    return [str(name), "–" if share is None else percent(float(str(share)), 1), *(f"{n:,}" for n in counts)]


def _histogram(found: RecordRisk) -> str:
    """How many records have which individual risk."""
    counts, names = found.histogram(), class_names()

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        at = range(len(names))
        axes.bar(at, counts, 0.7, color=UNSAFE.tone, edgecolor="#1a2433", linewidth=0.6)
        for x, number in zip(at, counts, strict=True):
            if number:
                words = f"{number:,}" if number < 100_000 else f"{number / 1000:,.0f}k"
                axes.annotate(words, (x, number), (0, 3), textcoords="offset points", ha="center", fontsize=8)
        axes.set_xticks(at, [n.replace("up to ", "up to\n").replace(" to ", "\nto ") for n in names], fontsize=8)
        axes.set_ylim(0, 1.2 * max(1, *counts))
        axes.set_ylabel("records")
        axes.set_xlabel("individual risk")

    words = ", ".join(f"{name}: {number:,}" for name, number in zip(names, counts, strict=True))
    return drawn(draw, 3.1, f"Records by individual risk. {words}.")
