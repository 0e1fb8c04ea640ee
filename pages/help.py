"""Help: a document of this project, and links to the others."""

from operator import itemgetter

import streamlit as st

from pages.ui.help.documents import DOCUMENT, document, titles
from pages.ui.shared.entrypoint import require_shell

require_shell("help")
asked = st.query_params.get(DOCUMENT, "")
name = asked if asked in titles() else "inspect"
st.query_params.from_dict({DOCUMENT: name})  # a link from this page to itself leaves the address as it is
text, others = st.columns([3, 1], gap="large")
with text.container(key="document"):
    st.markdown(document(name))
with others.container(key="documents"):
    st.markdown("**All documents**")
    for other, title in sorted(titles().items(), key=itemgetter(1)):
        short = title.partition(":")[0]
        st.page_link("pages/help.py", label=f"**{short}**" if other == name else short, query_params={DOCUMENT: other})
