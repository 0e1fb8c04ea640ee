"""A number or a date of a workbook as Excel shows it, by the number format of its cell."""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, NamedTuple

_DIGITS = 15  # of a number, as many as Excel keeps

_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])+|(?<=;)(?=;|$)')
_PART = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | [_*]. | \[\$(?P<currency>[^\]-]*)[^\]]*\]
    | \[(?:black|blue|cyan|green|magenta|red|white|yellow|color\s?\d+)\]
    | (?P<digits>[#0?,.]+) | (?P<percent>%) | (?P<sign>[-+$()\ :!^&'~{}=€£¥]) | (?P<unknown>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def shown(value: Any, code: str) -> Any:  # noqa: ANN401 - what openpyxl made of a cell
    """The cell as text where its format shows the same value in another form, such as 007, 25% or a date; else itself.

    A number that the format rounds stays as it is, and so does one whose format is not known. A date is written as
    2024-12-31 where its form depends on the computer.
    """
    if isinstance(value, date | time | timedelta):
        return _date(value, code) or _iso(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    exact = Decimal(f"{value:.{_DIGITS}g}" if isinstance(value, float) else value)
    return _number(exact, code) or _plain(exact)


def _plain(exact: Decimal) -> int | float:
    return int(exact) if exact == exact.to_integral_value() and exact.adjusted() < _DIGITS else float(exact)


class _Pattern(NamedTuple):
    before: str
    digits: str
    after: str
    scale: int  # 100 of a percentage


def _number(value: Decimal, code: str) -> str:
    """The number in its format; empty where that is General, not known, or rounds."""
    sections = _SECTION.findall(code) or [code]
    chosen = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    pattern = _pattern(sections[chosen])
    digits = _digits(abs(value) * pattern.scale, pattern.digits) if pattern else ""
    if not (pattern and digits):
        return ""
    sign = "-" if value < 0 and not chosen else ""
    return sign + (pattern.before + digits + pattern.after).strip()


def _pattern(section: str) -> _Pattern | None:
    """What stands before, in and after the digits; None where there are none, or anything that is not known."""
    before, digits, after, scale = "", "", "", 1
    for part in _PART.finditer(section):
        if part["unknown"] or (part["digits"] and digits):
            return None
        digits += part["digits"] or ""
        scale *= 100 if part["percent"] else 1
        text = "".join(part[name] or "" for name in ("quoted", "escaped", "currency", "percent", "sign"))
        before, after = (before, after + text) if digits else (before + text, after)
    return _Pattern(before, digits, after, scale) if _DIGIT_PATTERN.fullmatch(digits) else None


_DIGIT_PATTERN = re.compile(r"[#0,]*[#0](\.[#0]*)?")


def _digits(value: Decimal, pattern: str) -> str:
    """The digits that a pattern such as #,##0.00 shows; empty where it rounds."""
    whole, _, decimals = pattern.partition(".")
    try:
        rounded = value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    except ArithmeticError:  # more digits than a decimal holds
        return ""
    if rounded != value:
        return ""
    left, _, right = (f"{rounded:,f}" if "," in whole else f"{rounded:f}").partition(".")
    right = right.rstrip("0").ljust(decimals.count("0"), "0")
    left = left.zfill(whole.count("0")) if whole.count("0") else left.removeprefix("0")
    return f"{left}.{right}" if right else left


_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_LOCAL = ("General", "@", "mm-dd-yy", "m/d/yy h:mm")  # no format, and Excel's own, which each country writes otherwise
_ENGLISH = re.compile(r"en\b|[0-9a-f]*[048c]?09\b", re.IGNORECASE)
_DATE_PART = re.compile(
    r"""
    "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | [_*]. | \[\$-?(?P<language>[^\]]*)\] | \[(?P<elapsed>h+)\]
    | (?P<field>y+|m+|d+|h+|s+|am/pm) | (?P<fraction>\.0+) | (?P<sign>[-/:.,\ ]) | (?P<unknown>.)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _iso(value: date | time | timedelta) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(" ")
    return str(value)


def _date(value: date | time | timedelta, code: str) -> str:
    """The date or time in its format; empty where that is not known, or depends on the computer."""
    parts = list(_DATE_PART.finditer((_SECTION.findall(code) or [code])[0]))
    if code in _LOCAL or any(part["unknown"] for part in parts):
        return ""
    fields = _fields(parts)
    in_english = all(_ENGLISH.match(part["language"]) for part in parts if part["language"])
    if not in_english and any(field in ("mmm", "mmmm", "mmmmm", "ddd", "dddd") for field in fields):
        return ""
    if any(part["language"] and part["language"].upper().startswith("F") for part in parts):
        return ""
    try:
        return "".join(_written(value, part, field, fields) for part, field in zip(parts, fields, strict=True)).strip()
    except (AttributeError, KeyError):  # a time without a day, a duration without a clock
        return ""


def _fields(parts: Sequence[re.Match[str]]) -> list[str]:
    """The field of each part, minutes as "M"; empty where it has none."""
    fields = [(part["field"] or (part["elapsed"] and "[h]") or "").lower() for part in parts]
    places = [place for place, field in enumerate(fields) if field and field != "am/pm"]
    for before, place, after in zip([-1, *places], places, [*places[1:], -1], strict=False):
        is_after_hour = before >= 0 and fields[before][:1] in ("h", "[")
        if fields[place] in ("m", "mm") and (is_after_hour or (after >= 0 and fields[after][0] == "s")):
            fields[place] = fields[place].upper()
    return fields


def _written(value: Any, part: re.Match[str], field: str, fields: Sequence[str]) -> str:  # noqa: ANN401
    if not field:
        fraction = f".{_microseconds(value):06}"[: len(part["fraction"])] if part["fraction"] else ""
        return (part["quoted"] or part["escaped"] or part["sign"] or "") + fraction
    if isinstance(value, timedelta):
        return _elapsed(value)[field]
    if field[0] in "hs" or field[0] == "M" or field == "am/pm":
        return _clock(value, field, is_half="am/pm" in fields)
    return _day(value, field)


def _microseconds(value: Any) -> int:  # noqa: ANN401
    return value.microseconds if isinstance(value, timedelta) else value.microsecond


def _elapsed(value: timedelta) -> dict[str, str]:
    minutes, seconds = divmod(value.days * 86400 + value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return {"[h]": str(hours), "MM": f"{minutes:02}", "M": str(minutes), "ss": f"{seconds:02}", "s": str(seconds)}


def _clock(value: Any, field: str, *, is_half: bool) -> str:  # noqa: ANN401
    if field == "am/pm":
        return "AM" if value.hour < 12 else "PM"
    hour = (value.hour + 11) % 12 + 1 if is_half else value.hour
    number = {"h": hour, "M": value.minute, "s": value.second}[field[0]]
    return f"{number:0{min(len(field), 2)}}"


def _day(value: Any, field: str) -> str:  # noqa: ANN401
    if field[0] == "y":
        return f"{value.year:04}" if len(field) > 2 else f"{value.year % 100:02}"
    names, place = (_MONTHS, value.month - 1) if field[0] == "m" else (_DAYS, value.weekday())
    if len(field) < 3:
        return f"{value.month if field[0] == 'm' else value.day:0{len(field)}}"
    return names[place][: {3: 3, 5: 1 if field[0] == "m" else None}.get(len(field))]
