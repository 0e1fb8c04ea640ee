"""The messages before the prompt, and the options of the template that writes them."""

from collections.abc import Sequence

import streamlit as st

from pages.ui.host import models
from pages.ui.shared import state
from pages.ui.shared.errors import printable
from pages.ui.shared.model_form import checked, chosen_model
from rauq.labels import lines
from rauq.trace.messages import Message, conversation_text, option_text, option_value

_OPTION = "template_option_"


def messages_fields() -> None:
    """Draw the system prompt, the template's options and the conversation so far, and a button to leave it."""
    placeholder = "How the model should answer"
    st.text_area("System prompt", key=state.SYSTEM, height=80, placeholder=placeholder, persist_state="session")
    st.caption("Comes before the prompt. Needs a model with a chat template.")
    _option_fields()
    if earlier := st.session_state.get(state.EARLIER, ()):
        show_messages("Continues a conversation", earlier)
        st.button("Start a new conversation", key="new_conversation", on_click=_start_new_conversation)


def messages_label() -> str:
    """Name what the closed drawer holds."""
    count = len(st.session_state.get(state.EARLIER, ())) + bool((st.session_state.get(state.SYSTEM) or "").strip())
    given = f"{count} message{'' if count == 1 else 's'} before the prompt" if count else "Messages"
    return f"{given}, template options" if st.session_state.get(state.OPTIONS) else given


def show_messages(label: str, messages: Sequence[Message]) -> None:
    """Show messages as folded text."""
    count = len(messages)
    with st.expander(f"{label}: {count} message{'' if count == 1 else 's'}"):
        st.text(lines(conversation_text(messages)))


def _option_fields() -> None:
    """Draw a field for each option of the chosen model's template, once known, and for each option already set."""
    given = st.session_state.get(state.OPTIONS, {})
    names = sorted({*given, *_known_options()})
    if not names:
        return
    for name in names:
        value = printable(option_text(given[name])) if name in given else None
        st.session_state[_OPTION + name] = value
        st.selectbox(
            f"`{name}`",
            dict.fromkeys(filter(None, ("true", "false", value))),
            index=None,
            key=_OPTION + name,
            on_change=_set_option,
            args=(name,),
            accept_new_options=True,
            placeholder="the template's default",
        )
    st.caption("Options of the model's chat template. Choose a value, or type a number or a text.")


def _known_options() -> tuple[str, ...]:
    """Return the options of the chosen model's template if it is loaded or checked and a template is applied."""
    choice = chosen_model()
    known = models.if_loaded(choice) or checked(choice)
    return known.template_options if known is not None and known.kind == "instruct" else ()


def _set_option(name: str) -> None:
    """Store what was typed into a field; an empty field leaves the option to the template."""
    typed = printable(st.session_state[_OPTION + name] or "").strip()
    others = {other: value for other, value in st.session_state.get(state.OPTIONS, {}).items() if other != name}
    st.session_state[state.OPTIONS] = others | ({name: option_value(typed)} if typed else {})


def _start_new_conversation() -> None:
    st.session_state.update({state.EARLIER: (), state.OPTIONS: {}, state.PROMPT: ""})


def context() -> tuple[Message, ...]:
    """Return the messages before the prompt: the form's system prompt, if any, and the conversation so far."""
    system = printable(st.session_state.get(state.SYSTEM) or "")
    first = (Message(role="system", content=system),) if system.strip() else ()
    earlier: tuple[Message, ...] = st.session_state.get(state.EARLIER, ())
    return (*first, *earlier)
