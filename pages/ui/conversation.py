"""The system prompt, options of the chat template, and the conversation that a prompt continues."""

from collections.abc import Sequence

import streamlit as st

from pages.ui import cache, state
from pages.ui.errors import printable
from pages.ui.model_form import checked, chosen_model
from rauq.labels import lines, running
from rauq.messages import Message, conversation_text, option_text, option_value

_OPTION = "template_option_"


def fields() -> None:
    """The system prompt and the template's options, folded; what the prompt continues, and a way to leave it."""
    with st.expander("System prompt"):
        placeholder = "How the model should answer"
        st.text_area(
            "System message",
            key=state.SYSTEM,
            height=80,
            placeholder=placeholder,
            label_visibility="collapsed",
            persist_state="session",
        )
        st.caption("Comes before the prompt. It needs a model with a chat template.")
    if (st.session_state.get(state.SYSTEM) or "").strip():
        st.caption("There is a system prompt.")
    _option_fields()
    if earlier := st.session_state.get(state.EARLIER, ()):
        show_messages("Continues a conversation", earlier)
    if options := st.session_state.get(state.OPTIONS, {}):
        st.text(running(printable(f"Chat template with {', '.join(f'{name}={options[name]!r}' for name in options)}")))
    if earlier:
        st.button("Start a new conversation", key="new_conversation", on_click=_start_anew)


def show_messages(label: str, messages: Sequence[Message]) -> None:
    """Messages as folded text."""
    count = len(messages)
    with st.expander(f"{label}: {count} message{'' if count == 1 else 's'}"):
        st.text(lines(conversation_text(messages)))


def _option_fields() -> None:
    """A field for each option that the template of the chosen model takes, once it is known, or that was given."""
    given = st.session_state.get(state.OPTIONS, {})
    names = sorted({*given, *_known_options()})
    if not names:
        return
    with st.expander("Chat template", key="template_options"):
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
    """Options of the chosen model's template, where it is loaded or was checked and gets one."""
    choice = chosen_model()
    known = cache.if_loaded(choice) or checked(choice)
    return known.template_options if known is not None and known.kind == "instruct" else ()


def _set_option(name: str) -> None:
    """Keep what was typed into a field; an empty one leaves the option to the template."""
    typed = printable(st.session_state[_OPTION + name] or "").strip()
    others = {other: value for other, value in st.session_state.get(state.OPTIONS, {}).items() if other != name}
    st.session_state[state.OPTIONS] = others | ({name: option_value(typed)} if typed else {})


def _start_anew() -> None:
    st.session_state.update({state.EARLIER: (), state.OPTIONS: {}, state.PROMPT: ""})
