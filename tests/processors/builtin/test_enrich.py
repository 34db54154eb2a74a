"""`enrich`: the user's account, looked up once in a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from processors import DeclarationError, Deps, IncomingMessage, Proceed, Prompt, TextPart, TurnContext, User
from processors.builtin import account_in_prompt, enrich

ACCOUNT = {"plan": "pro", "seats": 3, "note": "two\n- lines: here"}


class Service:
    """Knows Ann, and counts who asks."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.now = 0.0
        self.delay_s = 0.0
        self.error: Exception | None = None

    async def account_of(self, context: TurnContext) -> dict[str, Any] | None:
        """Look up."""
        assert context.user is not None
        self.asked.append((context.tenant, context.user.id))
        await asyncio.sleep(self.delay_s)
        if self.error is not None:
            raise self.error
        return ACCOUNT if context.user.id.startswith("ann") else None

    def clock(self) -> float:
        """Tell the time, which tests set."""
        return self.now


def hello(user: str | None = "ann", tenant: str = "acme") -> IncomingMessage:
    """Return a message."""
    who = User(id=user) if user is not None else None
    return IncomingMessage((TextPart(text="Hello"),), user=who, context=TurnContext(user=who, tenant=tenant))


async def test_the_account_goes_into_the_metadata() -> None:
    """All of it, or the fields that are named and there."""
    service = Service()
    assert await enrich(service.account_of).process(hello()) == Proceed(metadata={"account": ACCOUNT})
    some = enrich(service.account_of, fields=["plan", "age"], key="who")
    assert await some.process(hello()) == Proceed(metadata={"who": {"plan": "pro"}})


async def test_or_into_the_message() -> None:
    """As its last text; a value with a line break cannot pass for another field."""
    verdict = await enrich(Service().account_of, into="message", key="Account").process(hello())
    assert verdict.message == (
        TextPart(text="Hello"),
        TextPart(text='Account:\n- plan: pro\n- seats: 3\n- note: "two\\n- lines: here"'),
    )


async def test_who_is_not_known_has_none() -> None:
    """Nor has a turn without a user, about which nobody is asked."""
    service = Service()
    assert await enrich(service.account_of).process(hello("bob")) == Proceed()
    assert await enrich(service.account_of).process(hello(None)) == Proceed()
    assert service.asked == [("acme", "bob")]


async def test_an_account_is_remembered_for_a_while() -> None:
    """Of each tenant's user, also that there is none."""
    service = Service()
    processor = enrich(service.account_of, cache_s=60, clock=service.clock)
    for message in (hello(), hello("bob"), hello(), hello("bob"), hello(tenant="other")):
        await processor.process(message)
    assert service.asked == [("acme", "ann"), ("acme", "bob"), ("other", "ann")]
    service.now = 60
    await processor.process(hello())
    assert service.asked[3:] == [("acme", "ann")]


async def test_only_so_many_are() -> None:
    """Those that were asked for last."""
    service = Service()
    processor = enrich(service.account_of, cache_size=2)
    for user in ("ann1", "ann2", "ann1", "ann3", "ann1", "ann2"):
        await processor.process(hello(user))
    assert [user for _, user in service.asked] == ["ann1", "ann2", "ann3", "ann2"]


async def test_nothing_need_be_remembered() -> None:
    """For accounts that change."""
    service = Service()
    processor = enrich(service.account_of, cache_s=0)
    await processor.process(hello())
    await processor.process(hello())
    assert len(service.asked) == 2


async def test_a_lookup_that_takes_too_long_fails_and_is_made_again() -> None:
    """By default the turn goes on without; nothing of a failure is remembered."""
    service = Service()
    service.delay_s = 30
    processor = enrich(service.account_of, limit_s=0.01)
    with pytest.raises(TimeoutError):
        await processor.process(hello())
    service.delay_s, service.error = 0, LookupError()
    with pytest.raises(LookupError):
        await processor.process(hello())
    service.error = None
    assert (await processor.process(hello())).metadata == {"account": ACCOUNT}
    assert len(service.asked) == 3


def test_the_limit_of_the_processor_is_beyond_that_of_the_lookup() -> None:
    """And what follows from a failure can be tightened."""
    (declared,) = Deps(pre_processors=[enrich(Service().account_of, limit_s=3, on_failure="fail")]).pre_processors
    assert declared.timeout_s > 3
    assert (declared.is_async, declared.on_failure) == (True, "fail")


def test_a_prompt_builder_tells_the_model() -> None:
    """Nothing, where nothing is known."""
    context = TurnContext(metadata={"account": {"plan": "pro"}})
    assert account_in_prompt()(Prompt(), context) == "The user's account:\n- plan: pro"
    assert account_in_prompt()(Prompt(), TurnContext()) == ""
    assert Deps(prompt_builder=account_in_prompt()).manifest.derivation[0].kind == "prompt_builder"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"into": "nowhere"}, "into must be"),
        ({"fields": "plan"}, "list of names"),
        ({"limit_s": 0}, "limit_s"),
        ({"cache_s": -1}, "cache_s"),
        ({"cache_size": 0}, "cache_size"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    """When it is declared."""
    with pytest.raises(DeclarationError, match=said):
        enrich(Service().account_of, **options)


def test_a_lookup_that_would_block_is_refused() -> None:
    """It would hold up all turns of its process."""
    blocking: Any = lambda context: None  # noqa: ARG005, E731 - what a user might write
    with pytest.raises(DeclarationError, match="async function"):
        enrich(blocking)
