"""JSON Web Tokens, PEM blocks, URLs with credentials."""

from __future__ import annotations

import base64
import json

import pytest

from processors.builtin import credential_urls, jwts, pem_blocks
from tests.processors.builtin.texts import fed, settled


def part(content: dict[str, object]) -> str:
    """Return a part of a token."""
    return base64.urlsafe_b64encode(json.dumps(content).replace(": ", ":").encode()).decode().rstrip("=")


HEADER = part({"alg": "HS256", "typ": "JWT"})
PAYLOAD = part({"sub": "12", "name": "Ann"})


@pytest.mark.parametrize(
    "token",
    [
        f"{HEADER}.{PAYLOAD}.c2lnbmF0dXJl",
        f"{HEADER}.{PAYLOAD}",
        f"{HEADER}.a2V5.aXY.Y2lwaGVy.dGFn",
        f"{HEADER}..aXY.Y2lwaGVy.dGFn",
        f"{HEADER}.{PAYLOAD * 200}.c2lnbmF0dXJl",
    ],
    ids=["signed", "without signature", "encrypted", "encrypted directly", "long"],
)
def test_a_token_is_replaced_whole(token: str) -> None:
    """In a header, in quotes, at the end of a sentence."""
    assert settled(jwts(), f"Bearer {token}") == "Bearer [JWT]"
    assert settled(jwts(), f'{{"t":"{token}"}}, or {token}.') == '{"t":"[JWT]"}, or [JWT].'


@pytest.mark.parametrize("text", ["monkeyJumping.functions1", "eyJ", HEADER, "eyJ.eyJ.eyJ", "heyJude.mp3"])
def test_what_is_no_token_stays(text: str) -> None:
    """Names in code, half a token."""
    assert settled(jwts(), text) == text


BLOCK = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "block",
    [
        BLOCK,
        BLOCK.replace("\n", "\\n"),
        BLOCK.replace("RSA ", ""),
        BLOCK.replace("RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"),
        BLOCK.replace("RSA PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
        BLOCK.replace("-----BEGIN RSA", "---- BEGIN SSH2")
        .replace("-----END RSA", "---- END SSH2")
        .replace("KEY-----", "KEY ----"),
    ],
    ids=["rsa", "escaped", "pkcs8", "openssh", "pgp", "ssh2"],
)
def test_a_block_is_replaced_with_its_markers(block: str) -> None:
    """Text around it stays."""
    assert settled(pem_blocks(private_only=True), f"a\n{block}\nb {block}, c") == "a\n[PEM]\nb [PEM], c"


@pytest.mark.parametrize("cut", range(len("-----BEGIN RSA PRIVATE KEY-----"), len(BLOCK)))
def test_a_block_without_its_end_reaches_to_the_end_of_the_answer(cut: int) -> None:
    """Wherever it was cut off, and nothing of it is released before."""
    text = f"key: {BLOCK[:cut]}"
    assert settled(pem_blocks(), text) == "key: [PEM]"
    assert all(said <= len("key: ") for _, said in fed(pem_blocks(), list(text)))


def test_text_flows_again_behind_a_block() -> None:
    """It does not wait for another end."""
    *_, last = fed(pem_blocks(), list(f"{BLOCK} and so on"))
    assert last == (len(f"{BLOCK} and so on"), len("[PEM] and so on"))


def test_a_certificate_is_a_block_but_not_a_private_one() -> None:
    """Unless asked otherwise all blocks are replaced."""
    certificate = BLOCK.replace("RSA PRIVATE KEY", "CERTIFICATE")
    assert settled(pem_blocks(), certificate) == "[PEM]"
    assert settled(pem_blocks(private_only=True), certificate) == certificate


@pytest.mark.parametrize("text", ["-----", "| --- | ----- |", "-----BEGIN", "----- BEGIN -----", "--BEGIN A KEY--"])
def test_what_is_no_block_stays(text: str) -> None:
    """Rules, tables, half a marker."""
    assert settled(pem_blocks(), text) == text


@pytest.mark.parametrize(
    ("url", "replaced", "whole"),
    [
        ("https://ann:pw@host.example/a?b=c", "https://[CREDENTIALS]@host.example/a?b=c", "[CREDENTIALS]"),
        ("postgres://ann:p@ss@db:5432/x", "postgres://[CREDENTIALS]@db:5432/x", "[CREDENTIALS]"),
        ("mongodb+srv://ann:pw@c.example", "mongodb+srv://[CREDENTIALS]@c.example", "[CREDENTIALS]"),
        ("redis://:pw@cache:6379", "redis://[CREDENTIALS]@cache:6379", "[CREDENTIALS]"),
        ("https://token0123@host.example", "https://[CREDENTIALS]@host.example", "[CREDENTIALS]"),
    ],
)
def test_a_url_with_credentials(url: str, replaced: str, whole: str) -> None:
    """Either they are replaced, or the URL is."""
    assert settled(credential_urls(), f"Use <{url}> now") == f"Use <{replaced}> now"
    assert settled(credential_urls(whole=True), f"Use <{url}> now") == f"Use <{whole}> now"


@pytest.mark.parametrize(
    "text",
    [
        "https://host.example/@ann",
        "https://host.example?to=a@b",
        "ssh://git@host.example/r",
        "http://a b@c",
        "a://@b",
        "//a:b@c",
    ],
)
def test_a_url_without_credentials_stays(text: str) -> None:
    """An `@` in its path or query is none, nor is a public user."""
    assert settled(credential_urls(), text) == text


def test_a_password_with_an_at_sign_is_held_until_the_host_ends() -> None:
    """`ann:p@` is not released as if `p` were all."""
    outs = [said for _, said in fed(credential_urls(), ["https://ann:p@", "ss", "@host", "/"])]
    assert outs[:3] == [0, 0, 0]
    assert outs[3] == len("https://[CREDENTIALS]@host/")
