"""The seven conditions that every user of an extract accepts; card 003-31, method 1."""

from __future__ import annotations

CONDITIONS = {
    "no-redistribution": "I give the data to nobody who is not named in the project.",
    "scholarly-use": "I use the data for scholarly work within the project, and for nothing else.",
    "no-commercial-use": "I do not use the data, or anything made of them, for commercial purposes.",
    "confidentiality": "I do not try to identify anybody in the data, and do not claim to have done so.",
    "security": "I keep the data so that nobody else can get at them, and destroy them when the project ends.",
    "citation": "I cite the data in everything that I publish about them.",
    "report-errors": "I report errors that I find in the data.",
}
"""Their names, as they are stored with version and time, and their words."""
