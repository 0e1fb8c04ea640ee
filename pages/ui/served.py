"""The app and the endpoint of `rauq serve --app` in one process: the app shows the answers that clients got."""

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st
from streamlit import config

from pages.ui.host import models
from pages.ui.host.clients import ClientAnswers
from pages.ui.host.hosting import ModelChoice
from pages.ui.host.store import store
from pages.ui.shared.url_state import KEPT, link, written_settings
from rauq.checkpoints.names import read_name
from rauq.cli.commands import exit_code, model_options
from rauq.layout import APP
from serve.endpoint import serves
from serve.main import Beside, parser, serve
from serve.numbers import Scored

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from rauq.model.language_model import LanguageModel
    from serve.job import Ended

_HOUR = 3600.0  # seconds


def main() -> None:
    """Serve both until the process is asked to end."""
    options = parser().parse_args()
    app = st.App(APP)
    config.get_config_options(force_reparse=True)  # with the file beside app.py, which is known since `st.App`
    clients = store().clients = ClientAnswers(
        most=options.keep_answers, seconds=options.keep_hours * _HOUR, kept=store().answers
    )
    beside = Beside(open=partial(beside_endpoint, app, options), keep=partial(kept_at, clients))
    sys.exit(exit_code(partial(serve, options, beside), name="rauq"))


def beside_endpoint(app: st.App, options: argparse.Namespace, endpoint: "ASGIApp", lm: "LanguageModel") -> "ASGIApp":
    """Return the server of the endpoint's addresses and, for all others, of the app, which shares the loaded model."""
    how = model_options(options)
    choice = {name: how[name] for name in ("device", "dtype", "engine")}
    models.share(ModelChoice(name=read_name(options.model).source, **choice), lm)

    async def both(scope: "Scope", receive: "Receive", send: "Send") -> None:
        is_own = scope["type"] == "http" and serves(scope["path"])
        await (endpoint if is_own else app)(scope, receive, send)

    return both


def kept_at(clients: ClientAnswers, found: Scored, ended: "Ended") -> str:
    """Keep an answer, and return where the app shows it with the settings of its score."""
    trace, score = found.trace, found.score
    settings = {key: text for key, text in written_settings(score.settings, trace.kind).items() if text is not None}
    name = clients.keep(ended, score.uncertainty, settings)
    return link("inspect", {KEPT: name} | settings, trace) or f"inspect?{KEPT}={name}"


if __name__ == "__main__":
    main()
