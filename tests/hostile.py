"""An answer whose every text is an attack, as a strange model or a stranger's file could bring it."""

from rauq.trace import Alternative
from tests.traces import make_trace

ATTACK = (
    "<img src=x onerror=\"document.title='owned'\"> ![](http://evil.example/a.png) <b>bold</b> $x$"
    " <style>*{display:none}</style><iframe src=http://evil.example></iframe> [a](javascript:alert(1)) :red[y] \u202e"
)
PIECES = (ATTACK.encode(), b" $x^2$ <sup>2</sup>", b"</text><script>document.title='owned'</script>", b"\x1b[31m")


def hostile_trace():
    """Its first token is the weak spot."""
    return make_trace(
        PIECES,
        probabilities=[0.01, *[0.9] * (len(PIECES) - 1)],
        prompt=ATTACK,
        model=ATTACK,
        alternatives=((Alternative(0, ATTACK, -1.0),),) * len(PIECES),
    )
