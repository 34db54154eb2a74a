"""National identity, tax and insurance numbers of persons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from processors.builtin.any_of import AnyOf, Format, any_case
from processors.builtin.extras import library
from processors.builtin.walking import alphanumerics_of, digits_of
from processors.errors import DeclarationError
from processors.patterns.redactor import Redactor, Rule

_EDGE = "[A-Za-z0-9]"
_NO_NINO = frozenset({"BG", "GB", "KN", "NK", "NT", "TN", "ZZ"})


def _cued(names: Iterable[str], number: str) -> str:
    """Return the pattern of a number that only the name before it tells from any other."""
    cue = "|".join(any_case(name) for name in names)
    return rf"(?:{cue})(?: (?:{any_case('number')}|{any_case('no')}\.?|{any_case('nr')}\.?))?(?: is)?[ :#=]{{1,3}}({number})"


def _own_digits(check: Callable[[str], bool], count: int) -> Callable[[str], bool]:
    """Return a check of the last `count` digits of what was found, whatever stands before and between them."""
    return lambda found: check(digits_of(found)[-count:])


def _compact(check: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda found: check(alphanumerics_of(found))


def _without_spaces(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a check for numbers whose separator means something."""
    return lambda found: check(found.replace(" ", "").upper())


def _is_nino(found: str) -> bool:
    return alphanumerics_of(found)[:2] not in _NO_NINO


def _formats() -> Iterator[Format]:
    """Yield what is looked for, the label beginning with the country.

    A number of which one in ten others would pass is found only as it is usually grouped, or behind its name.
    """

    def valid(module: str) -> Callable[[str], bool]:
        found: Callable[[str], bool] = library(f"stdnum.{module}", "national_ids()").is_valid
        return found

    digits = "[0-9]"
    letters = "[A-Za-z]"
    coded = "[0-9LMNPQRSTUVlmnpqrstuv]"
    yield Format(
        "US_SSN",
        "[0-9]{3}(?:-[0-9]{2}-| [0-9]{2} |\\.[0-9]{2}\\.)[0-9]{4}"
        f"|{_cued(('ssn', 'social security'), f'{digits}{{9}}')}",
        "Social Security Administration: no area 000, 666 or 9xx, no group 00, no serial 0000",
        _own_digits(valid("us.ssn"), 9),
    )
    yield Format(
        "US_ITIN",
        "9[0-9]{2}-[0-9]{2}-[0-9]{4}|9[0-9]{2} [0-9]{2} [0-9]{4}",
        "Internal Revenue Service, taxpayer numbers",
        _own_digits(valid("us.itin"), 9),
    )
    yield Format(
        "CA_SIN",
        f"[0-9]{{3}}-[0-9]{{3}}-[0-9]{{3}}|{_cued(('sin', 'social insurance'), '[0-9]{3} ?[0-9]{3} ?[0-9]{3}')}",
        "Employment and Social Development Canada: Luhn",
        _own_digits(valid("ca.sin"), 9),
    )
    yield Format(
        "MX_CURP",
        f"{letters}{{4}}[0-9]{{6}}[HMXhmx]{letters}{{5}}[0-9A-Za-z][0-9]",
        "Registro Nacional de Población",
        _compact(valid("mx.curp")),
    )
    yield Format(
        "BR_CPF",
        "[0-9]{3}\\.[0-9]{3}\\.[0-9]{3}-[0-9]{2}|[0-9]{11}",
        "Receita Federal: two check digits modulo 11",
        _own_digits(valid("br.cpf"), 11),
    )
    yield Format(
        "GB_NINO",
        "[A-CEGHJ-PR-TW-Za-ceghj-pr-tw-z][A-CEGHJ-NPR-TW-Za-ceghj-npr-tw-z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-Da-d]",
        "HM Revenue & Customs, National Insurance Manual NIM39110",
        _is_nino,
    )
    yield Format(
        "GB_NHS",
        f"[0-9]{{3}} [0-9]{{3}} [0-9]{{4}}|{_cued(('nhs',), f'{digits}{{10}}')}",
        "NHS data dictionary: modulo 11",
        _own_digits(valid("gb.nhs"), 10),
    )
    yield Format(
        "DE_IDNR",
        "[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}",
        "Bundeszentralamt für Steuern: ISO 7064 modulo 11,10",
        _own_digits(valid("de.idnr"), 11),
    )
    yield Format(
        "FR_NIR",
        "[1-8] ?[0-9]{2} ?[0-9]{2} ?(?:[0-9]{2}|2[ABab]) ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}",
        "INSEE: modulo 97",
        _compact(valid("fr.nir")),
    )
    yield Format("ES_DNI", "[0-9]{8}[ -]?[A-Za-z]", "Ministerio del Interior: modulo 23", _compact(valid("es.dni")))
    yield Format(
        "ES_NIE", "[XYZxyz][ -]?[0-9]{7}[ -]?[A-Za-z]", "Ministerio del Interior: modulo 23", _compact(valid("es.nie"))
    )
    yield Format(
        "IT_CODICE_FISCALE",
        f"{letters}{{3}} ?{letters}{{3}} ?{coded}{{2}}{letters}{coded}{{2}} ?{letters}{coded}{{3}}{letters}",
        "Agenzia delle Entrate",
        _compact(valid("it.codicefiscale")),
    )
    yield Format(
        "NL_BSN",
        "[0-9]{4}\\.[0-9]{2}\\.[0-9]{3}|" + _cued(("bsn", "burgerservicenummer", "sofinummer"), "[0-9]{9}"),
        "Rijksdienst voor Identiteitsgegevens: weighted sum modulo 11",
        _own_digits(valid("nl.bsn"), 9),
    )
    yield Format(
        "BE_NATIONAL_NUMBER",
        "[0-9]{2}\\.[0-9]{2}\\.[0-9]{2}[ -][0-9]{3}[. -][0-9]{2}|[0-9]{11}",
        "Rijksregister: modulo 97",
        _own_digits(valid("be.nn"), 11),
    )
    yield Format(
        "CH_AHV",
        "756\\.?[0-9]{4}\\.?[0-9]{4}\\.?[0-9]{2}",
        "Zentrale Ausgleichsstelle: EAN-13",
        _own_digits(valid("ch.ssn"), 13),
    )
    yield Format("PL_PESEL", "[0-9]{11}", "Rządowe Centrum: weighted sum, date", _own_digits(valid("pl.pesel"), 11))
    yield Format(
        "SE_PERSONNUMMER",
        "(?:[0-9]{2})?[0-9]{6}[-+][0-9]{4}",
        "Skatteverket: Luhn, date",
        _without_spaces(valid("se.personnummer")),
    )
    yield Format(
        "FI_HETU",
        "[0-9]{6}[-+ABCDEFUVWXYabcdefuvwxy][0-9]{3}[0-9A-Ya-y]",
        "Digi- ja väestötietovirasto: modulo 31, date",
        _without_spaces(valid("fi.hetu")),
    )
    yield Format(
        "IN_AADHAAR",
        "[2-9][0-9]{3} [0-9]{4} [0-9]{4}|[2-9][0-9]{3}-[0-9]{4}-[0-9]{4}|"
        + _cued(("aadhaar", "aadhar", "uid"), "[2-9][0-9]{11}"),
        "Unique Identification Authority of India: Verhoeff",
        _own_digits(valid("in_.aadhaar"), 12),
    )
    yield Format(
        "IN_PAN",
        f"{letters}{{3}}[ABCFGHJKLPTabcfghjklpt]{letters}[0-9]{{4}}{letters}",
        "Income Tax Department: layout only",
        _compact(valid("in_.pan")),
    )
    yield Format("CN_RIC", "[0-9]{17}[0-9Xx]", "GB 11643-1999: ISO 7064 modulo 11-2, date", _compact(valid("cn.ric")))
    yield Format(
        "KR_RRN", "[0-9]{6}-[0-9]{7}", "Ministry of the Interior: modulo 11, date", _own_digits(valid("kr.rrn"), 13)
    )


def national_ids(
    name: str = "redact-national-ids",
    *,
    countries: Iterable[str] | None = None,
    label: str | None = None,
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces personal numbers with check digits, or other rules, of these `countries`.

    `countries` are ISO 3166 codes (None: all there are: BE, BR, CA, CH, CN, DE, ES, FI, FR, GB, IN, IT, KR, MX, NL, PL, SE,
    US). The label is the number's own (`US_SSN`) unless `label` is given. Needs the extra `builtin`.

    Raises:
        DeclarationError: the library is not installed, or there is no number of a country.
    """
    formats = list(_formats())
    if countries is not None:
        wanted = {country.upper() for country in countries}
        known = {one.label[:2] for one in formats}
        if not wanted or wanted - known:
            unknown = ", ".join(sorted(wanted - known)) or "no country at all"
            raise DeclarationError(f"national_ids: no numbers of {unknown}; there are {', '.join(sorted(known))}")
        formats = [one for one in formats if one.label[:2] in wanted]
    finder = AnyOf(formats, before=_EDGE, after=_EDGE)
    rule = Rule(label or "ID", finder, named=None if label else finder.label, part=finder.part, same=alphanumerics_of)
    return Redactor(name, [rule], placeholder=placeholder, numbered=numbered)
