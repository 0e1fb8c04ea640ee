"""Texts that attack the display, as an unknown model or an untrusted file could contain them."""

from rauq.trace.trace import Alternative
from tests.traces import make_trace

PAYLOADS = {
    "image": "<img src=x onerror=\"document.title='owned'\"> <svg onload=\"document.title='owned'\"></svg>",
    "Markdown image": "![](http://evil.example/a.png)",
    "tag": "<b>bold</b>",
    "LaTeX": "$x$",
    "style": "<style>*{display:none}</style>",
    "iframe": "<iframe src=http://evil.example></iframe>",
    "link": "[a](javascript:alert(1)) <a href=http://evil.example>b</a>",
    "directive": ":red[y]",
    "script": "<script>document.title='owned'</script>",
    "form": "<form action=http://evil.example><input name=a></form>",
    "ANSI": "\x1b[31m\x1b]0;owned\x07",
    "bidi override": "\u202e\u2066",
}
ATTACK = " ".join(PAYLOADS.values())
PIECES = (ATTACK.encode(), b" $x^2$ <sup>2</sup>", b"</text><script>document.title='owned'</script>", b"\x1b[31m")


def hostile_trace():
    """A trace whose largest collapse is at its first token."""
    return make_trace(
        PIECES,
        probabilities=[0.01, *[0.9] * (len(PIECES) - 1)],
        prompt=ATTACK,
        model=ATTACK,
        alternatives=((Alternative(0, ATTACK, -1.0),),) * len(PIECES),
    )
