# One image for every role: `docker run turngate worker --role turns`, `… gateway`, `… topics create`.
#
# It runs as a user without a name or rights, needs nothing to write but /tmp, and has no compiler. Processors of your own are
# put into /app, by a volume or by an image built on this one; what they import is installed in such an image.

ARG PYTHON=3.13.5-slim-bookworm

FROM python:${PYTHON} AS build
# Of the extras only what runs in production; `embedded` is a broker of its own.
ARG EXTRAS=builtin,fast,gateway,openai,otel,sealing
# Versions to hold to, a line each, if the build is to be the same tomorrow: a file beside this one.
ARG CONSTRAINTS=
WORKDIR /src
COPY pyproject.toml README.md turngate.py ${CONSTRAINTS} ./
COPY processors processors
COPY streams streams
COPY topics topics
RUN python -m venv /opt/turngate \
 && /opt/turngate/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: \
      ${CONSTRAINTS:+--constraint "${CONSTRAINTS}"} ".[${EXTRAS}]" \
 && /opt/turngate/bin/python -m compileall -q /opt/turngate/lib \
 && /opt/turngate/bin/pip uninstall --yes --quiet pip

FROM python:${PYTHON}
RUN pip uninstall --yes --quiet pip \
 && groupadd --gid 10001 turngate \
 && useradd --uid 10001 --gid turngate --no-create-home --home-dir /app --shell /usr/sbin/nologin turngate
COPY --from=build /opt/turngate /opt/turngate
ENV PATH=/opt/turngate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TURNGATE_METRICS_PORT=9090
WORKDIR /app
USER 10001:10001
EXPOSE 8800 9090
# A worker that was told to stop gives its partitions back first.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request as ask; ask.urlopen('http://127.0.0.1:9090/ready', timeout=4)"]
ENTRYPOINT ["turngate"]
CMD ["--help"]
