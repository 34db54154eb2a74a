"""Which code there is, its digests, and processors that are configured when they are deployed."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field

from processors import (
    Answer,
    DeclarationError,
    DeploymentError,
    Deps,
    DepsError,
    Pass,
    Replace,
    output_processor,
    processor_factory,
)
from processors.catalogue import Catalogue, codes_of, load
from processors.declare import as_processor
from processors.digests import code_digest
from processors.factories import carried_factory, digest_with

SUFFIX = "!"


class Options(BaseModel):
    """A configuration."""

    times: int = Field(ge=1)
    secret: str = ""


@processor_factory("output", "shout", config=Options, version="3")
def shout(config: Options) -> object:
    """Make a processor; fail where it is asked for a hundred."""
    if config.times == 100:
        raise LookupError(config.secret)

    @output_processor("whatever")
    def louder(answer: Answer) -> Replace:
        return Replace(answer.text + SUFFIX * config.times)

    return louder


@output_processor("same", version="1")
def same_1(_answer: Answer) -> Pass:
    """Pass."""
    return Pass()


@output_processor("same", version="2")
def same_2(_answer: Answer) -> Pass:
    """Pass."""
    return Pass()


def helped(text: str) -> str:
    """Use something of this module."""
    return text + SUFFIX


def test_versions_of_one_name_stand_side_by_side() -> None:
    """Each is found by its version; what is named twice is there once."""
    catalogue = Catalogue([*codes_of([same_1, same_2], "a"), *codes_of(same_1, "b")])
    assert [code.ref for code in catalogue] == ["output/same@1", "output/same@2"]
    assert [code.version for code in catalogue.called("same")] == ["1", "2"]
    assert catalogue.find("output", "same", "3") is None


def test_other_code_of_the_same_version_is_refused() -> None:
    """Nobody could say which of the two runs."""

    @output_processor("same", version="1")
    def other(_answer: Answer) -> Pass:
        return Pass()

    with pytest.raises(DepsError, match="give one another version"):
        Catalogue([*codes_of(same_1, "a"), *codes_of(other, "b")])


def test_the_code_of_a_deps_is_in_the_catalogue_with_what_is_named_beside_it() -> None:
    """As workers report it."""
    deps, catalogue = load("tests.integration.versions:deps", ("tests.integration.versions:more",))
    assert isinstance(deps, Deps)
    assert {one.partition("#")[0] for one in catalogue.listed} >= {"output/mark@1", "output/mark@2", "pre/greet@1"}


def test_what_is_no_processor_is_refused() -> None:
    """With the name of the place."""
    with pytest.raises(DepsError, match="here is no processor"):
        codes_of(7, "here")


def test_a_factory_makes_a_processor_under_its_own_name() -> None:
    """The version says that it is configured, whatever the order of the fields."""
    factory = carried_factory(shout)
    assert factory is not None
    one = factory.build({"times": 2, "secret": "x"})
    other = factory.build({"secret": "x", "times": 2})
    assert (one.name, one.kind, one.version, one.digest) == ("shout", "output", other.version, other.digest)
    assert one.version.startswith("3+")
    assert one.digest == digest_with(factory.digest, {"times": 2, "secret": "x"})
    assert one.digest != factory.build({"times": 3, "secret": "x"}).digest
    assert one.call(Answer("a"), None) == Replace("a!!")


@pytest.mark.parametrize(
    ("config", "message"),
    [({"times": 0}, "times"), ({}, "times"), ({"times": 100, "secret": "hush"}, "LookupError")],
)
def test_a_configuration_that_does_not_fit_is_refused(config: dict[str, object], message: str) -> None:
    """The fields are named, and no value."""
    factory = carried_factory(shout)
    assert factory is not None
    with pytest.raises(DeploymentError, match=message) as refused:
        factory.build(config)
    assert "hush" not in str(refused.value)


def test_code_without_a_model_takes_no_configuration() -> None:
    """It would be ignored, and the version would lie."""
    (code,) = codes_of(same_1, "a")
    with pytest.raises(DeploymentError, match="takes no config"):
        code.build({"a": 1})
    assert code.build(None) is not None


def test_a_factory_needs_a_model() -> None:
    """Without one nothing would be checked."""
    with pytest.raises(DeclarationError, match="BaseModel"):
        processor_factory("output", "x", config=dict)  # type: ignore[arg-type]


def test_a_digest_is_of_the_code_and_of_what_it_uses_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of what stands beside it."""
    before, beside = code_digest(helped), as_processor(same_1, "output").digest
    monkeypatch.setitem(globals(), "SUFFIX", "?")
    assert code_digest(helped) != before
    assert as_processor(same_1, "output").digest == beside
    assert as_processor(same_2, "output").digest != beside
