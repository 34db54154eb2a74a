"""The texts a chain is checked with: those built in, those its own code suggests, and those somebody gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from topics.text import well_formed

#: `built-in` texts are the checker's own, `code` ones are made from what the processors' code looks for, a `repetition` is
#: made to be slow, `corpus` texts are the caller's.
Source: TypeAlias = Literal["built-in", "code", "repetition", "corpus"]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`size` code points at place `at` were put in `times` more times."""

    at: int
    size: int
    times: int


@dataclass(frozen=True, slots=True)
class Text:
    """Text number `number` (from 1) of its source, with what was repeated in it since, in that order."""

    source: Source
    number: int
    text: str
    repeats: tuple[Repeat, ...] = ()

    def with_more(self, repeat: Repeat) -> Text:
        """Return the text with a piece of it repeated."""
        piece = self.text[repeat.at : repeat.at + repeat.size]
        text = self.text[: repeat.at] + piece * repeat.times + self.text[repeat.at :]
        return replace(self, text=text, repeats=(*self.repeats, repeat))

    def is_origin_of(self, other: Text) -> bool:
        """Tell whether `other` is this text, or was made of it."""
        return (self.source, self.number) == (other.source, other.number)

    def __str__(self) -> str:
        """The text's name: nothing of what it says."""
        grown = f", made longer in {len(self.repeats)} places" if self.repeats else ""
        return f"{self.source} text {self.number}{grown}"


def built_in() -> list[Text]:
    """Return the checker's own texts: short, and full of what redactors look for and what makes cutting delicate."""
    return _numbered("built-in", BUILT_IN)


def given_texts(texts: Iterable[str]) -> list[Text]:
    """Return a caller's texts, numbered in order; lone surrogates become U+FFFD, as on the wire."""
    return _numbered("corpus", texts)


def code_texts(texts: Iterable[str]) -> list[Text]:
    """Return texts that processors' own code suggests."""
    return _numbered("code", texts)


def _numbered(source: Source, texts: Iterable[str]) -> list[Text]:
    return [Text(source, number, str(well_formed(text))) for number, text in enumerate(texts, start=1)]


#: None of it is anybody's: reserved domains and numbers, test cards, keys that were never issued.
BUILT_IN = (
    "",
    " ",
    "a",
    "Yes.",
    "The quick brown fox jumps over the lazy dog. Then it rests, as foxes do, until noon.",
    "Write to bob.smith+news@mail.example.co.uk or to ann@acme.example, please; not to x@y.",
    "Two at once: a@b.io,c@d.io;<e.f@g.org> and (mailto:h@i.net?subject=Hi).",
    "Call +1 (555) 010-9999, 555-0100, +44 20 7946 0958 or 0049 30 901820; ext. 12.",
    "Card 4111 1111 1111 1111, 5500-0000-0000-0004 and 378282246310005; not 4111111111111112.",
    "IBAN DE89 3704 0044 0532 0130 00 or GB82WEST12345698765432, BIC DEUTDEFF.",
    "SSN 078-05-1120, NINO QQ 12 34 56 C, born 1980-02-29, passport X1234567.",
    "pin 1234, code 123456, order 12345678-90, total 1,234,567.89 EUR on 03/04/2025.",
    "key sk-test0123456789abcdefABCDEF0123456789abcdef0123, then more.",
    "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY are from the manual.",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345 xoxb-0000000000-abcdefghij glpat-abcdefghij0123456789",
    "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXRoYXQtaXMtbm9uZQ end",
    "-----BEGIN PRIVATE KEY-----\nMIIBVQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\nafter",
    "password: hunter2 api_key='abc123' secret=\"s3cr3t\" token = t0k3n; user=root",
    "postgres://admin:pa55word@db.internal:5432/app?ssl=on and https://user:pw@host.example/x#y",
    "See http://example.com/a/b?c=d&e=f, www.example.org and ftp://files.example.net/.",
    "Hosts 192.168.10.254, 10.0.0.1:8080, fe80::1ff:fe23:4567:890a, 00:1B:44:11:3A:B7, localhost.",
    "id 123e4567-e89b-12d3-a456-426614174000, sha d41d8cd98f00b204e9800998ecf8427e, 0xDEADBEEF",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq and 1BoatSLRHtKNngkdXEeobR76b53LETtpyT",
    "Dr. Jane Q. Doe lives at 221B Baker Street, London NW1 6XE; Mr. O'Neil-Smith does not.",
    "<think>The user wants the secret plan.</think>The plan is not for you.<think>Open to the end",
    '<b>bold</b> <a href="x.html">link</a> <script>alert(1)</script> a < b && b > c <!-- gone -->',
    "```sql\nSELECT name, ssn FROM users WHERE id = 1; DROP TABLE users; -- x\n```\nDone.",
    "Use /* hidden */ DELETE FROM t or UPDATE t SET a='b;c' WHERE 1=1.",
    '{"name": "Bob", "mail": "bob@acme.example", "tags": ["a", "b"], "n": 1.5e-3, "x": null}',
    "| a | b |\n|---|---|\n| 1 | **two** |\n\n# Title\n\n- item _one_\n- [link](https://x.example)\n",
    "damn, DAMN, d4mn, d.a.m.n; hell-bent in hello; Scunthorpe; class assassin",
    "project ORION and Project Orion; internal use only; CONFIDENTIAL - do not distribute",
    "secret secretsecret secre secret. SECRET",
    "((nested (brackets [and {braces}]) here)) \"quoted 'twice'\" \\escaped\\ %20 $HOME",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0000000000000000000000000000000000000000",
    "x.y.z...  --  __init__  ***  !!!  ???  //  \\\\  ~~  ::  @@  ##",
    "line one\r\nline two\rline three\n\n\tindented\u2028separated\x0cpaged\x00nul",
    "z\u200be\u200br\u200bo width: b\u200bob@acme\u2060.example, 41\u00ad11 1111 1111 1111",
    "\uff42\uff4f\uff42\uff20acme.example \uff14\uff11\uff11\uff11 \u0430cme \u0455ecret",
    "cafe\u0301 e\u0301te\u0301 a\u0308\u0323 o\u0302\u0301n nai\u0308ve re\u0301sume\u0301",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7 \U0001f44d\U0001f3fd \u2764\ufe0f",
    "\u5bc6\u7801\u662f1234\u3002\u7535\u8bdd13800138000\uff0c\u90ae\u7bb1a@b.cn\u3002\u79d8\u5bc6",
    "\u05e9\u05dc\u05d5\u05dd 054-1234567 \u0645\u0631\u062d\u0628\u0627 \u0661\u0662\u0663\u0664 \u202eabc\u202c",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947",
    "STRASSE stra\u00dfe \u0130stanbul \u0131 \ufb01n \u01c6 \u03c3\u03c2 \u1e9e",
    "Trailing spaces   \n   and a final newline\n",
)
