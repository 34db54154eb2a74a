"""Tokens: read anew from a file, or fetched from a server of ours here, kept while they are good, never quoted."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from streams.oauth import ClientCredentials, FileTokens, TokenError


class TokenServer(HTTPServer):
    """Gives tokens that are numbered, or whatever else it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: list[tuple[str, str]] = []
        self.answer: object = None
        self.status = 200

    @property
    def url(self) -> str:
        """Where it gives them."""
        return f"http://127.0.0.1:{self.server_port}/token"


class _Answers(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        answer = self.server.answer or {"access_token": f"token-{len(self.server.asked)}", "expires_in": 300}
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library names it
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[TokenServer]:
    """Give a server of tokens."""
    with TokenServer() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


async def test_a_file_s_token_is_read_whenever_it_is_asked_for(tmp_path: Path) -> None:
    """Whoever keeps it fresh need not tell."""
    file = tmp_path / "token"
    tokens = FileTokens(file)
    with pytest.raises(TokenError, match="cannot be read"):
        await tokens.token()
    for content, token in (("one\n", "one"), ("two", "two")):
        file.write_text(content)
        assert await tokens.token() == token
    file.write_text("\n")
    with pytest.raises(TokenError, match="is empty"):
        await tokens.token()


async def test_a_token_is_fetched_with_name_and_secret_and_kept_while_it_is_good(server: TokenServer) -> None:
    """Half a minute before it expires there is another one."""
    now = [0.0]
    tokens = ClientCredentials(server.url, "a:b", "s é", scope="kafka", clock=lambda: now[0])
    assert [await tokens.token(), await tokens.token()] == ["token-1", "token-1"]
    now[0] = 271.0
    assert await tokens.token() == "token-2"
    login, form = server.asked[0]
    assert base64.b64decode(login.removeprefix("Basic ")).decode() == "a%3Ab:s+%C3%A9"
    assert form == "grant_type=client_credentials&scope=kafka"


@pytest.mark.parametrize(
    ("status", "answer", "words"),
    [
        (401, {"error": "invalid_client"}, "HTTP 401"),
        (200, {"error": "what?"}, "KeyError"),
        (200, ["token"], "TypeError"),
        (200, {"access_token": ""}, "none in its answer"),
    ],
)
async def test_a_server_without_a_token_is_an_error_that_quotes_nothing(
    server: TokenServer, status: int, answer: object, words: str
) -> None:
    """Neither what was sent nor what came."""
    server.status, server.answer = status, answer
    with pytest.raises(TokenError, match=words) as caught:
        await ClientCredentials(server.url, "client", "the-secret").token()
    assert "the-secret" not in str(caught.value)
    assert "invalid_client" not in str(caught.value)


async def test_a_server_that_is_not_there_is_named() -> None:
    """By its host, without the rest of the address."""
    with pytest.raises(TokenError, match=r"no token from 127\.0\.0\.1 \(URLError\)"):
        await ClientCredentials("http://127.0.0.1:1/secret-path", "client", "secret").token()
