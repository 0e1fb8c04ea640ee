"""How a person fills in a field: a click, all of it selected, and keys; `fill()` sets a value that no key could."""

_LONGEST = 200  # characters; more is pasted


def enter(field, text):
    """Put `text` into a field in place of what is there."""
    field.click()
    field.press("ControlOrMeta+a")
    if len(text) > _LONGEST:
        field.page.keyboard.insert_text(text)
    elif text:
        field.press_sequentially(text)
    else:
        field.press("Backspace")
