"""The model runner: put together from the settings, and run."""

from __future__ import annotations

import time

from streams.faust_shell.base import AppSettings, JournalApp
from streams.faust_shell.feeding import feed
from streams.faust_shell.kafka import takes_idempotent_producers
from streams.models.openai import OpenAISettings
from streams.models.routing import router_of
from streams.process import die, run_until_stopped, unique, worker_name
from streams.runner.loop import Ports
from streams.runner.worker import ModelRunner
from streams.settings import Settings
from topics import names
from topics.admin import TopicAdmin
from topics.connection import Connection
from topics.names import Names

#: A turn worker may publish a prompt again for as long as its turn is open, and a little longer.
_KEEP_MARGIN_S = 3600.0


async def run_model_runner(settings: Settings, bootstrap: str) -> None:
    """Run a model runner on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    connection, topic_names = Connection(bootstrap), Names(settings.prefix)
    key = settings.openai_api_key
    router = router_of(
        script_enabled=settings.script_enabled,
        openai=OpenAISettings(
            base_url=settings.openai_base_url,
            api_key=key.get_secret_value() if key else None,
            model=settings.openai_model,
            connect_timeout_s=settings.openai_connect_timeout_s,
            read_timeout_s=settings.openai_read_timeout_s,
            extra_params=frozenset(settings.openai_extra_params),
        ),
    )
    try:
        partitions = await TopicAdmin(connection, topic_names).require()
        idempotent = await takes_idempotent_producers(connection)
        app = JournalApp(
            AppSettings(
                connection,
                topic_names,
                partitions,
                "models",
                settings.session_timeout_s,
                idempotent,
                settings.static_member,
            )
        )
        runner = ModelRunner(
            router.adapter_for,
            Ports(app.sender, topic_names, worker_name(), time.time, die),
            app.logs,
            partitions=partitions,
            max_calls=settings.max_calls,
            keep_s=settings.turn_timeout_s + _KEEP_MARGIN_S,
            replays=app.journal.take_replays,
            unique=unique,
        )
        app.belong_to(runner.partitions, die)
        feed(app, runner, die, patient=names.PROMPTS, urgent=names.CANCELS)
        await run_until_stopped(app, runner.partitions.lose)
    finally:
        await router.close()
