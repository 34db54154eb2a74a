"""What the operator knows of the user, looked up once in a while and said along with their messages."""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

from processors.builtin.placed import Placed, Placing
from processors.checks import is_count, is_number
from processors.contracts import IncomingMessage, TextPart, TurnContext
from processors.errors import DeclarationError
from processors.verdicts import Proceed

Account: TypeAlias = Mapping[str, Any]
Lookup: TypeAlias = Callable[[TurnContext], Awaitable[Account | None]]
#: So that the limit of the lookup is what ends it, and not that of the processor.
_GRACE_S = 5.0


class Enrich(Placed):
    """A pre-processor that adds what a lookup says of the user."""

    kind = "pre"

    def __init__(self, lookup: Lookup, adding: Adding, cache: Cache, limit_s: float, placing: Placing) -> None:
        super().__init__("enrich", placing, lookup, adding, limit_s, priority=50, timeout_s=limit_s + _GRACE_S)
        self._lookup = lookup
        self._adding = adding
        self._cache = cache
        self._limit_s = limit_s

    async def process(self, incoming: IncomingMessage) -> Proceed:
        """Add the account of the user who speaks, if there is one.

        Raises:
            TimeoutError: the lookup took too long.
            Exception: whatever the lookup raises.
        """
        context = incoming.context
        if incoming.user is None:
            return Proceed()
        who = context.tenant, incoming.user.id
        found, account = self._cache.get(who)
        if not found:
            async with asyncio.timeout(self._limit_s):
                account = await self._lookup(context)
            self._cache.put(who, account)
        return Proceed() if account is None else self._adding.to(incoming, account)


@dataclass(frozen=True, slots=True)
class Adding:
    """Where an account goes: into the metadata as `key`, or into the message; of it `fields`, all if None."""

    key: str
    fields: tuple[str, ...] | None
    into: Literal["metadata", "message"]

    def to(self, incoming: IncomingMessage, account: Account) -> Proceed:
        """Return the verdict that adds `account`."""
        chosen = account if self.fields is None else {name: account[name] for name in self.fields if name in account}
        if self.into == "metadata":
            return Proceed(metadata={self.key: dict(chosen)})
        return Proceed((*incoming.message, TextPart(text=as_text(self.key, chosen))))


class Cache:
    """Accounts of the last users, each for a while by `clock` (seconds, monotonic)."""

    def __init__(self, size: int, seconds: float, clock: Callable[[], float]) -> None:
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], tuple[float, Account | None]] = OrderedDict()

    def get(self, who: tuple[str, str]) -> tuple[bool, Account | None]:
        """Return whether a user's account is known, and the account."""
        until, account = self._kept.get(who, (float("-inf"), None))
        if self._clock() >= until:
            self._kept.pop(who, None)
            return False, None
        self._kept.move_to_end(who)
        return True, account

    def put(self, who: tuple[str, str], account: Account | None) -> None:
        """Keep a user's account; None says that there is none."""
        if self._seconds <= 0:
            return
        self._kept[who] = self._clock() + self._seconds, account
        self._kept.move_to_end(who)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)


def enrich(
    lookup: Lookup,
    *,
    into: Literal["metadata", "message"] = "metadata",
    key: str = "account",
    fields: Iterable[str] | None = None,
    limit_s: float = 2.0,
    cache_s: float = 300.0,
    cache_size: int = 1_024,
    clock: Callable[[], float] = time.monotonic,
    **placing: Unpack[Placing],
) -> Enrich:
    """Return an async pre-processor that adds the user's account, as `lookup` knows it, to the turn.

    A turn without a user has none. If the lookup fails the processor does, and by default the turn goes on without.

    Args:
        lookup: an async function from the `TurnContext` (its `tenant`, its `user`) to a mapping of JSON values, or None
            where there is no account.
        into: `metadata`, for later processors and a prompt builder (`account_in_prompt`); it is in `decisions` too, for as
            long as those are kept. `message` puts it as a last text into the user's message, where the thread remembers it.
        key: what it is called there.
        fields: those of the account that are added. None is all: name them, or what a later version of the lookup returns
            will be in every prompt.
        limit_s: the longest that the lookup may take, in seconds.
        cache_s: how long an account is remembered by each process, in seconds; 0 is not at all.
        cache_size: how many are.
        clock: seconds, for tests.
        placing: `name`, `priority` (50), `on_failure`, `agents`, `timeout_s`, `version`.

    Raises:
        DeclarationError: an argument cannot be.
    """
    if not (inspect.iscoroutinefunction(lookup) or inspect.iscoroutinefunction(type(lookup).__call__)):
        raise DeclarationError("enrich: the lookup must be an async function of the TurnContext")
    if into not in ("metadata", "message"):
        raise DeclarationError('enrich: into must be "metadata" or "message"')
    if isinstance(fields, str):
        raise DeclarationError(f"enrich: fields must be a list of names: write fields=[{fields!r}]")
    if not is_number(limit_s) or limit_s <= 0 or not is_number(cache_s) or cache_s < 0 or not is_count(cache_size):
        raise DeclarationError("enrich: limit_s must be above 0, cache_s 0 or more, and cache_size an int above 0")
    adding = Adding(key, None if fields is None else tuple(fields), into)
    return Enrich(lookup, adding, Cache(cache_size, cache_s, clock), limit_s, placing)


class AccountInPrompt:
    """A prompt builder that appends what `enrich` left in the metadata to the system prompt."""

    def __init__(self, key: str, heading: str) -> None:
        self._key = key
        self._heading = heading

    def __call__(self, _prompt: object, context: TurnContext) -> str:
        """Return the text to append."""
        account = context.metadata.get(self._key)
        return as_text(self._heading, account) if isinstance(account, Mapping) else ""


def account_in_prompt(key: str = "account", heading: str = "The user's account") -> AccountInPrompt:
    """Return a prompt builder that tells the model what `enrich` found, under `heading` at the end of the system prompt."""
    return AccountInPrompt(key, heading)


def as_text(heading: str, account: Account) -> str:
    """Return an account as a model reads it: a line for each field, values as JSON."""
    return "\n".join((f"{heading}:", *(f"- {name}: {_said(value)}" for name, value in account.items())))


def _said(value: object) -> str:
    # A text with line breaks in it must not look like further fields.
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
