"""Tables of units of measure and number words.

``UNITS`` maps a symbol to (family, size in the family's base unit). Quantities of one family are comparable; a unit
with its own family (degrees Celsius) equals only itself.

Known approximation: symbols with too many meanings in running text ("in" for inch, "a" for year) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["CURRENCIES", "MONTHS", "ORDINALS", "SCALES", "SPELLED", "UNITS", "WORD_UNITS"]

Unit = tuple[str, float]

_PREFIXES = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def _metric(symbol: str, prefixes: str, family: str = "") -> dict[str, Unit]:
    """Return the unit with each prefix; a dash among the prefixes is the unit without one."""
    plain = {"-": ""}
    return {
        plain.get(prefix, prefix) + symbol: (family or symbol, _PREFIXES[plain.get(prefix, prefix)])
        for prefix in prefixes
    }


UNITS: Mapping[str, Unit] = MappingProxyType(
    {
        **_metric("m", "num-k"),
        "cm": ("m", 1e-2),
        "ft": ("m", 0.3048),
        "yd": ("m", 0.9144),
        "mi": ("m", 1609.344),
        **_metric("g", "pnum-k"),
        "t": ("g", 1e6),
        "lb": ("g", 453.59237),
        "lbs": ("g", 453.59237),
        "oz": ("g", 28.349523125),
        **_metric("M", "pnum-"),  # molar: a concentration, not a length
        **_metric("mol", "pnum-"),
        **_metric("l", "num-"),
        **_metric("L", "num-", "l"),
        **_metric("s", "num-"),
        "sec": ("s", 1.0),
        "min": ("s", 60.0),
        "h": ("s", 3600.0),
        "hr": ("s", 3600.0),
        "hrs": ("s", 3600.0),
        **_metric("Hz", "-kMGT"),
        **_metric("W", "m-kMGT"),
        **_metric("V", "um-k"),
        **_metric("B", "-kMGT"),
        "KB": ("B", 1e3),
        "Da": ("Da", 1.0),
        "kDa": ("Da", 1e3),
        "m²": ("m2", 1.0),
        "km²": ("m2", 1e6),
        "ha": ("m2", 1e4),
        "mph": ("km/h", 1.609344),
        "kph": ("km/h", 1.0),
        "km/h": ("km/h", 1.0),
        "m/s": ("km/h", 3.6),
        "%": ("%", 1.0),
        "°C": ("°C", 1.0),
        "°F": ("°F", 1.0),
    }
)
"""Case-sensitive symbols: ``M`` is molar, ``m`` is metre."""


def _words(table: dict[str, Unit]) -> dict[str, Unit]:
    plural = {name + "s": unit for name, unit in table.items()}
    british = {name.replace("meter", "metre").replace("liter", "litre"): unit for name, unit in table.items()}
    return table | plural | british | {name + "s": unit for name, unit in british.items()}


WORD_UNITS: Mapping[str, Unit] = MappingProxyType(
    _words(
        {
            "nanometer": ("m", 1e-9),
            "micrometer": ("m", 1e-6),
            "millimeter": ("m", 1e-3),
            "centimeter": ("m", 1e-2),
            "meter": ("m", 1.0),
            "kilometer": ("m", 1e3),
            "mile": ("m", 1609.344),
            "yard": ("m", 0.9144),
            "foot": ("m", 0.3048),
            "inch": ("m", 0.0254),
            "milligram": ("g", 1e-3),
            "microgram": ("g", 1e-6),
            "gram": ("g", 1.0),
            "kilogram": ("g", 1e3),
            "tonne": ("g", 1e6),
            "pound": ("g", 453.59237),
            "ounce": ("g", 28.349523125),
            "milliliter": ("l", 1e-3),
            "microliter": ("l", 1e-6),
            "liter": ("l", 1.0),
            "second": ("s", 1.0),
            "minute": ("s", 60.0),
            "hour": ("s", 3600.0),
            "day": ("s", 86400.0),
            "week": ("s", 604800.0),
            "month": ("month", 1.0),
            "year": ("month", 12.0),
            "decade": ("month", 120.0),
            "hectare": ("m2", 1e4),
            "acre": ("acre", 1.0),
            "percent": ("%", 1.0),
            "dollar": ("$", 1.0),
            "euro": ("€", 1.0),
            "yen": ("¥", 1.0),
            "nanomolar": ("M", 1e-9),
            "micromolar": ("M", 1e-6),
            "millimolar": ("M", 1e-3),
            "molar": ("M", 1.0),
        }
    )
    | {"feet": ("m", 0.3048), "inches": ("m", 0.0254), "usd": ("$", 1.0), "eur": ("€", 1.0)}
)
"""Lower-case words."""

CURRENCIES: Mapping[str, str] = MappingProxyType({"$": "$", "€": "€", "£": "£", "¥": "¥"})


def _list(words: str) -> list[str]:
    return words.split()


_ONES = _list(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """
)
_TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")

SPELLED: Mapping[str, int] = MappingProxyType(
    {"both": 2, "twice": 2, "thrice": 3}
    | {word: value for value, word in enumerate(_ONES)}
    | {word: 10 * (i + 2) for i, word in enumerate(_TENS)}
)

_IRREGULAR = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fifth": 5,
    "eighth": 8,
    "ninth": 9,
    "twelfth": 12,
}
ORDINALS: Mapping[str, int] = MappingProxyType(
    _IRREGULAR
    | {word + "th": n for n, word in enumerate(_ONES) if n in (4, 6, 7, 10, 11) or n > 12}
    | {word[:-1] + "ieth": 10 * (i + 2) for i, word in enumerate(_TENS)}
)

SCALES: Mapping[str, float] = MappingProxyType(
    {
        "dozen": 12.0,
        "dozens": 12.0,
        "hundred": 1e2,
        "hundreds": 1e2,
        "thousand": 1e3,
        "thousands": 1e3,
        "million": 1e6,
        "millions": 1e6,
        "mn": 1e6,
        "billion": 1e9,
        "billions": 1e9,
        "bn": 1e9,
        "trillion": 1e12,
        "trillions": 1e12,
    }
)

_MONTHS = _list("january february march april may june july august september october november december")
MONTHS: Mapping[str, int] = MappingProxyType(
    {word: i + 1 for i, word in enumerate(_MONTHS)}
    | {word[:3]: i + 1 for i, word in enumerate(_MONTHS)}
    | {"sept": 9}
)
