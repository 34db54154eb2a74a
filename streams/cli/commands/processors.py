"""`turngate processors`."""

from __future__ import annotations

from typing import Annotated

import typer

from streams.cli.commands.gate import Window
from streams.cli.options import Broker, Deps, Json

app = typer.Typer(help="Look after processors: check and try them, and choose which versions run.")

By = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Who does it, for the audit trail. Without it: the user, and the host."),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until every live worker has taken it on.")]
Versioned = Annotated[
    str, typer.Argument(metavar="NAME@VERSION", help="A pushed version: its name or the beginning of its digest.")
]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A processor's name, or kind/name where that says too little.")
]


@app.command()
def check(
    chain: Annotated[
        str,
        typer.Argument(
            metavar="NAME|CHAIN",
            help="module:attribute of a Deps, or of a list of output processors; or the name of one in TURNGATE_DEPS.",
        ),
    ],
    *,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="More texts: JSON Lines, each a text or an object with `text`. `-` is stdin."
        ),
    ] = None,
    window: Annotated[Window | None, typer.Option(help="Instead of what the Deps says.")] = None,
    show: Annotated[
        bool | None,
        typer.Option("--show/--no-show", help="Show the texts of examples. Without it: all but those of --corpus."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of random splits.")] = 0,
    limit_s: Annotated[float, typer.Option("--limit", min=0.1, help="Seconds after which a call hangs.")] = 5.0,
    budget_s: Annotated[float, typer.Option("--budget", min=0.1, help="Seconds for each part of the check.")] = 120.0,
    deps: Deps = None,
    as_json: Json = False,
) -> None:
    """Check that no split of an answer leaks what a chain would have held back, and how much it has to hold back.

    Reports the shortest split that breaks the promise, the smallest windows that hold, patterns that have no bound or
    are slow, and verdicts that depend on anything but the text. Exits 0 if the promise holds, 1 if not, 2 if CHAIN or
    FILE cannot be used. With --json each line is a finding, the last one a summary.
    """
    from streams.cli.work.check import Request, run  # noqa: PLC0415 - see the package's text

    request = Request(
        chain=chain,
        corpus=corpus,
        window=window.value if window else None,
        show=show,
        seed=seed,
        limit_s=limit_s,
        budget_s=budget_s,
        deps=deps,
    )
    raise typer.Exit(run(request, as_json=as_json))


@app.command()
def push(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@VERSION]", help="A processor of TURNGATE_DEPS, TURNGATE_PROCESSORS or a package."
        ),
    ],
    *,
    config: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="What a processor that takes a configuration is given.")
    ] = None,
    deps: Deps = None,
    broker: Broker = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Record a version of a processor: code that is here, with a configuration. Nothing runs it before it is deployed.

    The processor is made here once, so that a configuration that it does not take is refused. Exits 2 then.
    """
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import push as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(name, config, Asked(broker, deps, by, as_json)))


@app.command()
def deploy(
    version: Versioned,
    *,
    priority: Annotated[float | None, typer.Option(help="Where it runs among others, lower first.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="For this agent only; not for controls.")] = None,
    tenant: Annotated[
        list[str] | None, typer.Option(help="For this tenant, beside what all have. Nothing is taken from a tenant.")
    ] = None,
    on_failure: Annotated[str | None, typer.Option(help="skip, block or fail; stricter than declared.")] = None,
    deps: Deps = None,
    broker: Broker = None,
    by: By = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Have new turns run through a pushed version; turns that are open keep what they began with.

    Refused, with nothing changed, while a live worker lacks its code. A worker that cannot run it refuses it: then what was
    chosen before is written back. Exits 0 when every live worker has taken it on, 1 if not, 2 if it may not be.
    """
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import deploy as work  # noqa: PLC0415 - the same

    scope = {
        "priority": priority,
        "agents": tuple(agent) if agent else None,
        "tenants": tuple(tenant) if tenant else None,
        "on_failure": on_failure,
    }
    raise typer.Exit(work(version, Asked(broker, deps, by, as_json, wait), **scope))


@app.command()
def promote(
    versions: Annotated[list[str], typer.Argument(metavar="NAME@VERSION...", help="Pushed versions.")],
    *,
    deps: Deps = None,
    broker: Broker = None,
    by: By = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Deploy several versions as one: no turn begins with some of them."""
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import promote as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(versions, Asked(broker, deps, by, as_json, wait)))


@app.command()
def rollback(
    name: Name, *, deps: Deps = None, broker: Broker = None, by: By = None, wait: Wait = True, as_json: Json = False
) -> None:
    """Deploy the version that was deployed before this one; before the first there is what the Deps declares."""
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import roll_back as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(name, Asked(broker, deps, by, as_json, wait)))


@app.command()
def activate(
    name: Name, *, deps: Deps = None, broker: Broker = None, by: By = None, wait: Wait = True, as_json: Json = False
) -> None:
    """Switch a processor on again."""
    from streams.cli.work.deploy import Asked, switch  # noqa: PLC0415 - see the package's text

    raise typer.Exit(switch(name, Asked(broker, deps, by, as_json, wait), active=True))


@app.command()
def deactivate(
    name: Name, *, deps: Deps = None, broker: Broker = None, by: By = None, wait: Wait = True, as_json: Json = False
) -> None:
    """Switch a processor off for everybody. A control that the Deps lists, or requires, cannot be."""
    from streams.cli.work.deploy import Asked, switch  # noqa: PLC0415 - see the package's text

    raise typer.Exit(switch(name, Asked(broker, deps, by, as_json, wait), active=False))


@app.command()
def shadow(
    version: Annotated[
        str, typer.Argument(metavar="NAME@VERSION", help="A pushed version; with --off a name will do.")
    ],
    *,
    off: Annotated[bool, typer.Option("--off", help="End it.")] = False,
    deps: Deps = None,
    broker: Broker = None,
    by: By = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Have a version of an output processor judge live answers beside the active one, without any effect.

    What it says is on `decisions`, marked as shadow, where it can be compared.
    """
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import shadow as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(version, Asked(broker, deps, by, as_json, wait), off=off))


@app.command()
def delete(
    name: Annotated[str, typer.Argument(metavar="NAME|NAME@VERSION", help="What is chosen of NAME, or one version.")],
    *,
    deps: Deps = None,
    broker: Broker = None,
    by: By = None,
    wait: Wait = True,
    as_json: Json = False,
) -> None:
    """Forget a version that is not in use; or with a name alone what is chosen, so that the Deps alone counts."""
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deploy import delete as work  # noqa: PLC0415 - the same

    raise typer.Exit(work(name, Asked(broker, deps, by, as_json, wait)))


@app.command("list")
def list_(broker: Broker = None, as_json: Json = False) -> None:
    """Show which version of each processor is chosen, and what each live worker runs; exits 1 until all run the same.

    With --json: a line for each processor, one for each worker, and a last one that says whether they have converged.
    """
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deployed import show_all  # noqa: PLC0415 - the same

    raise typer.Exit(show_all(Asked(broker, as_json=as_json)))


@app.command()
def show(name: Name, broker: Broker = None, as_json: Json = False) -> None:
    """Show the versions of a processor that were pushed, by whom, and which of them is chosen."""
    from streams.cli.work.deploy import Asked  # noqa: PLC0415 - see the package's text
    from streams.cli.work.deployed import show_one  # noqa: PLC0415 - the same

    raise typer.Exit(show_one(name, Asked(broker, as_json=as_json)))


@app.command("test")
def try_(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME[@VERSION]|MODULE:ATTRIBUTE", help="A processor of any kind."),
    ],
    given: Annotated[
        str, typer.Option("--input", metavar="JSON", help="What it sees: an object. `-` takes it from stdin.")
    ] = "-",
    config: Annotated[
        str | None, typer.Option(metavar="JSON|@FILE", help="What a processor that takes a configuration is given.")
    ] = None,
    deps: Deps = None,
    as_json: Json = False,
) -> None:
    """Run one processor here on one input, without a broker, and show what it makes of it.

    The input has `message` for a message rule or a pre-processor, `message` and `response` for a post-processor, `answer`
    for an output processor, `messages` and `system` for an input processor, `name` and `arguments` for a tool rule; and
    `channel`, `tenant`, `user` and what else processors are told of a turn. Exits 0 if it lets the turn go on, 1 if it
    blocks, rejects, denies or fails, 2 if the input or the processor cannot be used.
    """
    from streams.cli.work.try_one import run  # noqa: PLC0415 - see the package's text

    raise typer.Exit(run(name, given, config, deps, as_json=as_json))
