"""What stands before Streamlit in every server of the app."""

from starlette.middleware import Middleware

from pages.ui.serving.styled import styled
from pages.ui.serving.upload_names import with_usable_names

MIDDLEWARE = (Middleware(styled), Middleware(with_usable_names))
