"""The last step of a new run: its name, the room it takes, and the button that starts its job."""

import math
import shutil
from pathlib import Path

import streamlit as st

from analysis.datasets.example import DataSet
from analysis.runs.create import bytes_per_answer, prepare
from analysis.runs.library import folder_of, list_runs, slug
from pages.ui import cache, hosting
from pages.ui.errors import show_error
from pages.ui.model_form import checked, chosen_model
from pages.ui.runs import actions, model_fields, place
from pages.ui.session_runs import check_run, make_room, runs_folder
from rauq.errors import InvalidInput, RauqError
from rauq.labels import size

NAME = "new_run_name"
_CHARACTERS_A_TOKEN = 3  # of an answer that is given; a token has more as a rule, so the estimate is rather too large


def open_form() -> None:
    """Show the form, as it was left but for the name."""
    st.session_state[NAME] = ""
    place.open_form()


def start_step(data: DataSet) -> None:
    """Draw the name and the button; without examples there is nothing to start."""
    suggested = free_name(slug(f"{data.name.rsplit('.', 1)[0]}-{chosen_model().name.rsplit('/', 1)[-1]}"))
    typed = st.text_input("Name of the run", key=NAME, placeholder=suggested, persist_state="session")
    if st.button("Start", key="start_run", type="primary", disabled=not data.examples):
        with st.spinner("Starting its job"):
            try:
                folder = write_down(data, typed.strip() or suggested)
            except RauqError as error:
                show_error(error)
                return
            place.choose(folder.name)
            actions.begin(folder.name, folder)
        st.rerun()


def write_down(data: DataSet, name: str) -> Path:
    """Write down what is asked; the folder of the new run.

    Raises:
        RauqError: a name or an option that no run can have, or a name that is taken.
    """
    folder = folder_of(name, runs_folder())
    if folder.exists():
        message = f"There is a run called {name} already. Choose another name, such as {free_name(name)}."
        raise InvalidInput(message)
    asked, request = model_fields.request_of(data)
    check_run(request, asked.examples)
    make_room()
    prepare(folder, asked, request, name=name)
    return folder


def room(data: DataSet) -> str:
    """How much room the run takes at most, and how much there is; the embedded model may be looked at for it."""
    choice = chosen_model()
    model = cache.examine(choice) if choice.name in hosting.models() else checked(choice)
    if model is None:
        return "How much room it takes depends on the model's layers and heads: check the model to see it."
    tokens = _tokens(data)
    each = bytes_per_answer(
        tokens,
        num_layers=model.num_layers,
        num_heads=model.num_heads,
        stored_layers=model_fields.stored_layers(),
    )
    whole = each * model_fields.count(data)
    free = shutil.disk_usage(next(path for path in (runs_folder(), *runs_folder().parents) if path.exists())).free
    verdict = "" if whole < free else " It does not fit: take fewer examples."
    return f"At most {size(whole)}: {size(each)} for an answer of {tokens} tokens. {size(free)} are free.{verdict}"


def free_name(name: str) -> str:
    """The name, or with a number behind it the first that no run has."""
    taken = {run.name for run in list_runs(runs_folder())}
    numbered = (f"{name[:60]}-{number}" for number in range(2, len(taken) + 3))
    return next(free for free in (name, *numbered) if free not in taken)


def _tokens(data: DataSet) -> int:
    """How long answers are: as long as they may be, or as those that are given."""
    given = [len(example.answer) for example in data.examples if example.answer is not None]
    longest = [math.ceil(max(given) / _CHARACTERS_A_TOKEN)] if given else []
    generated = [model_fields.most_tokens(data)] if len(given) < len(data.examples) else []
    return max([*longest, *generated])
