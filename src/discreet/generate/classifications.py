"""The fixed classifications of the census: all its code columns but the geography."""

from __future__ import annotations

from discreet.generate.codes import CodeTree

SEX = CodeTree.flat({"F": "Female", "M": "Male"})

AGE_GROUP = CodeTree.nested(
    {
        f"Y{low:02d}-{high:02d}": (
            f"Aged {low} to {high}",
            {f"Y{age:02d}-{age + 4:02d}": f"Aged {age} to {age + 4}" for age in range(low, high, 5)},
        )
        for low, high in ((0, 14), (15, 64), (65, 99))
    }
)

MARITAL = CodeTree.flat({"S": "Never married", "M": "Married", "W": "Widowed", "D": "Divorced"})

BIRTH = CodeTree.nested(
    {
        "EUR": (
            "Europe",
            {
                "HOME": "Country of the census",
                "POL": "Poland",
                "ROU": "Romania",
                "DEU": "Germany",
                "ITA": "Italy",
                "UKR": "Ukraine",
                "GBR": "United Kingdom",
                "FRA": "France",
                "PRT": "Portugal",
                "ESP": "Spain",
                "SRB": "Serbia",
                "ISL": "Iceland",
            },
        ),
        "ASI": (
            "Asia",
            {
                "TUR": "Türkiye",
                "SYR": "Syria",
                "AFG": "Afghanistan",
                "IND": "India",
                "CHN": "China",
                "VNM": "Viet Nam",
                "PHL": "Philippines",
                "IRQ": "Iraq",
                "IRN": "Iran",
                "BTN": "Bhutan",
            },
        ),
        "AFR": (
            "Africa",
            {
                "MAR": "Morocco",
                "DZA": "Algeria",
                "NGA": "Nigeria",
                "SOM": "Somalia",
                "ERI": "Eritrea",
                "GHA": "Ghana",
                "EGY": "Egypt",
                "LSO": "Lesotho",
            },
        ),
        "AME": (
            "America",
            {
                "USA": "United States",
                "BRA": "Brazil",
                "COL": "Colombia",
                "MEX": "Mexico",
                "CAN": "Canada",
                "BLZ": "Belize",
            },
        ),
        "OCE": ("Oceania", {"AUS": "Australia", "NZL": "New Zealand", "PLW": "Palau"}),
        "UNK": ("Unknown", {}),
    }
)
BIRTH_WEIGHTS = dict.fromkeys(BIRTH.leaves, 1) | {
    "HOME": 8000,
    "POL": 260,
    "ROU": 240,
    "DEU": 180,
    "ITA": 140,
    "UKR": 160,
    "GBR": 90,
    "FRA": 80,
    "PRT": 60,
    "ESP": 50,
    "SRB": 40,
    "TUR": 220,
    "SYR": 140,
    "AFG": 80,
    "IND": 70,
    "CHN": 50,
    "VNM": 25,
    "PHL": 20,
    "IRQ": 30,
    "IRN": 25,
    "MAR": 120,
    "DZA": 30,
    "NGA": 20,
    "SOM": 15,
    "ERI": 12,
    "GHA": 10,
    "EGY": 8,
    "USA": 30,
    "BRA": 25,
    "COL": 12,
    "MEX": 6,
    "CAN": 5,
    "AUS": 5,
    "NZL": 2,
    "UNK": 15,
}
"""Heads of households in about 10,000; the smallest countries keep 1."""

EDUCATION = CodeTree.flat(
    {
        "E0": "No school completed",
        "E1": "Primary",
        "E2": "Lower secondary",
        "E3": "Upper secondary",
        "E4": "Post-secondary",
        "E5": "Bachelor",
        "E6": "Master or doctorate",
    }
)

LABOUR = CodeTree.nested(
    {
        "A": ("Active", {"AE": "Employed", "AU": "Unemployed"}),
        "I": (
            "Inactive",
            {"IC": "Child below 15", "IS": "Student", "IR": "Retired", "IO": "Other inactive"},
        ),
    }
)

OCCUPATION = CodeTree.nested(
    {
        "1": (
            "Managers",
            {
                "11": "Chief executives and senior officials",
                "12": "Administrative and commercial managers",
                "13": "Production and service managers",
                "14": "Hospitality and retail managers",
            },
        ),
        "2": (
            "Professionals",
            {
                "21": "Science and engineering professionals",
                "22": "Health professionals",
                "23": "Teachers",
                "24": "Business professionals",
                "25": "Computing professionals",
                "26": "Legal, social and cultural professionals",
            },
        ),
        "3": (
            "Technicians",
            {
                "31": "Science and engineering technicians",
                "32": "Health technicians",
                "33": "Business technicians",
                "34": "Legal, social and cultural technicians",
                "35": "Computing technicians",
            },
        ),
        "4": (
            "Clerks",
            {
                "41": "General clerks",
                "42": "Customer service clerks",
                "43": "Numerical clerks",
                "44": "Other clerks",
            },
        ),
        "5": (
            "Service and sales workers",
            {
                "51": "Personal service workers",
                "52": "Sales workers",
                "53": "Care workers",
                "54": "Protective services workers",
            },
        ),
        "6": (
            "Agricultural workers",
            {"61": "Market farmers", "62": "Foresters and fishers", "63": "Subsistence farmers"},
        ),
        "7": (
            "Craft workers",
            {
                "71": "Building workers",
                "72": "Metal workers",
                "73": "Handicraft and printing workers",
                "74": "Electrical workers",
                "75": "Food, wood and garment workers",
            },
        ),
        "8": (
            "Machine operators",
            {"81": "Plant operators", "82": "Assemblers", "83": "Drivers"},
        ),
        "9": (
            "Elementary occupations",
            {
                "91": "Cleaners",
                "92": "Agricultural labourers",
                "93": "Mining, building and transport labourers",
                "94": "Food preparation assistants",
                "95": "Street workers",
                "96": "Refuse and other elementary workers",
            },
        ),
        "X": ("Not employed", {}),
    }
)
