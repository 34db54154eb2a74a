"""The model runner: put together from the settings, and run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from streams.broker_access import connection_of
from streams.metrics import ModelMetrics
from streams.models.adapter import ModelAdapter
from streams.models.asked import AskedProviders
from streams.models.guard import GuardSettings, ProviderGuard, ProviderObserver
from streams.models.guarded import GuardedAdapter
from streams.models.openai import OpenAISettings
from streams.models.routing import Provider, Router, router_of
from streams.process import die, unique, worker_name
from streams.roles.beginning import journal_app, usable_partitions
from streams.roles.runners import serve
from streams.runner.loop import Ports
from streams.runner.models import ModelRunner
from streams.settings import Settings, provider_key
from streams.status import serve_status
from streams.tracing.calls import ModelCallTracing
from streams.tracing.spans import Spans
from streams.tracing.start import tracing
from topics import names
from topics.names import Names

#: A turn worker may publish a prompt again for as long as its turn is open, and a little longer.
_KEEP_MARGIN_S = 3600.0


async def run_model_runner(settings: Settings, bootstrap: str) -> None:
    """Run a model runner on the brokers at `bootstrap` until the process is told to stop.

    Raises:
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
        SettingsError: a provider's key is not where it is said to be, or the port for metrics cannot be had.
        TracingError: traces are wanted and cannot be sent.
        TopicLayoutError: topics are missing or laid out differently.
        BrokerUnreachableError: nobody answers at `bootstrap`.
    """
    async with tracing(settings, "models") as spans:
        await _run(settings, bootstrap, spans)


async def _run(settings: Settings, bootstrap: str, spans: Spans | None) -> None:
    connection, topic_names = connection_of(settings, bootstrap), Names(settings.prefix)
    metrics = ModelMetrics()
    router = model_router(settings, metrics)
    try:
        status = serve_status(settings.metrics_port, metrics)
        partitions = await usable_partitions(connection, topic_names, "models")
        app = await journal_app(settings, connection, topic_names, partitions, "models")
        tracer = ModelCallTracing(spans, time.time, router.asked) if spans is not None else None
        runner = ModelRunner(
            router.adapter_for,
            Ports(app.sender, topic_names, worker_name(), time.time, die, tracer, metrics.refused),
            app.logs,
            partitions=partitions,
            max_calls=settings.max_calls,
            keep_s=settings.turn_timeout_s + _KEEP_MARGIN_S,
            replays=app.journal.take_replays,
            unique=unique,
        )
        await serve(
            app,
            runner,
            "models",
            requests=names.PROMPTS,
            topic_names=topic_names,
            metrics=metrics,
            status=status,
        )
    finally:
        await router.close()


def model_router(settings: Settings, observer: ProviderObserver, now: Callable[[], float] = time.monotonic) -> Router:
    """Return what answers this runner's requests, each provider behind a guard of its own.

    Raises:
        AdapterMissingError: a model server is configured and the `openai` extra is not installed.
        SettingsError: a provider's key is not where it is said to be.
    """
    guard = GuardSettings(
        retry_share=settings.retry_share,
        retries_per_minute=settings.retries_per_minute,
        failures=settings.breaker_failures,
        cool_down_s=settings.breaker_cool_down_s,
        max_wait_s=settings.pause_wait_s,
    )
    asked = AskedProviders()

    def guarded(name: str, adapter: ModelAdapter) -> ModelAdapter:
        return GuardedAdapter(adapter, ProviderGuard(name, guard, asked, observer, now()), now)

    key = settings.openai_api_key
    single = OpenAISettings(
        base_url=settings.openai_base_url,
        api_key=key.get_secret_value() if key else None,
        model=settings.openai_model,
        connect_timeout_s=settings.openai_connect_timeout_s,
        read_timeout_s=settings.openai_read_timeout_s,
        extra_params=frozenset(settings.openai_extra_params),
    )
    providers = [
        Provider(name, one.models, replace(single, base_url=one.base_url, api_key=provider_key(name, one)))
        for name, one in settings.providers.items()
    ]
    return router_of(script_enabled=settings.script_enabled, openai=single, providers=providers, wrap=guarded)
