"""The app and the endpoint of `rauq serve --app` in one process: the app shows the answers that clients got."""

import argparse
import asyncio
import secrets
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import streamlit as st
from streamlit import config

from pages.ui.host import models
from pages.ui.host.clients import CLIENTS, HOUR, ClientAnswer, ClientAnswers
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.kept import MOST_ANSWERS
from pages.ui.host.store import store
from pages.ui.serving.middleware import MIDDLEWARE
from pages.ui.shared.url_state import KEPT, written_settings
from rauq.cli.commands import exit_code, model_options
from rauq.errors import InvalidInput
from rauq.labels import ENGINES
from rauq.layout import APP
from serve.endpoint import serves
from serve.main import WithApp, parser, serve
from serve.numbers import Scored

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rauq.model.language_model import LanguageModel
    from serve.job import Ended

_CHECK_SECONDS = 60.0  # between two checks for answers that are too old


def main() -> None:
    """Serve both until the process is asked to end."""
    options = parser().parse_args()
    sys.exit(exit_code(partial(_serve_both, options), name="rauq"))


def _serve_both(options: argparse.Namespace) -> int:
    if options.keep_answers > MOST_ANSWERS:
        message = f"--keep-answers is {options.keep_answers:,}; give at most {MOST_ANSWERS:,}."
        raise InvalidInput(message)
    clients = ClientAnswers(most=options.keep_answers, seconds=options.keep_hours * HOUR, kept=store().answers)
    store().clients = clients
    app = st.App(APP, middleware=MIDDLEWARE, lifespan=partial(_expiring, clients))
    config.get_config_options(force_reparse=True)  # with the file beside app.py, which is known since `st.App`
    config.set_option("server.allowedHosts", [*config.get_option("server.allowedHosts"), "::1"])
    with_app = WithApp(open=partial(beside_endpoint, app, options), keep=partial(kept_at, clients), turn=_turn)
    return serve(options, with_app)


@asynccontextmanager
async def _expiring(clients: ClientAnswers, _app: st.App) -> AsyncIterator[None]:
    """Drop old answers as long as the server runs, whether or not a page lists them."""

    async def expire() -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            clients.expire()

    task = asyncio.create_task(expire())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def beside_endpoint(app: st.App, options: argparse.Namespace, endpoint: "ASGIApp", lm: "LanguageModel") -> "ASGIApp":
    """Return the server of the endpoint's addresses and, for all others, of the app, which shares the loaded model."""
    how = model_options(options)
    choice = ModelChoice(name=lm.name, device=how["device"], dtype=how["dtype"], engine=how["engine"])
    running = next((engine for engine in ENGINES if lm.engine.about.startswith(engine)), None)
    models.share(lm, replace(choice, engine=running), choice)  # a link names the engine that ran a GGUF file

    async def both(scope: "Scope", receive: "Receive", send: "Send") -> None:
        is_own = scope["type"] == "http" and serves(scope["method"], scope["path"])
        await (endpoint if is_own else app)(scope, receive, send)

    return both


def _turn(lm: "LanguageModel") -> AbstractContextManager[object]:
    """Return the turn of all clients in the queue of the app, in which they are one visitor."""
    return models.queue(lm).turn(threading.Event(), CLIENTS)


def kept_at(clients: ClientAnswers, found: Scored, ended: "Ended", uncertainty: float | None) -> str:
    """Keep an answer, and return where the app shows it with the settings of its score."""
    name = secrets.token_urlsafe(12)
    written = written_settings(found.score.settings, found.trace.kind)
    query = {KEPT: name} | {key: text for key, text in written.items() if text is not None}
    clients.keep(
        ClientAnswer(
            name=name,
            trace=found.trace,
            text=ended.text,
            ending=ended.ending,
            uncertainty=uncertainty,
            query=query,
        )
    )
    return f"inspect?{urlencode(query)}"


if __name__ == "__main__":
    main()
