"""How a person goes to a view of a run: by its topic, then by its title."""

from playwright.sync_api import expect


def go_to_view(page, view):
    for name in (view.topic, view.title):
        choice = page.get_by_role("radio", name=name, exact=True)
        choice.click()
        expect(choice).to_be_checked()
