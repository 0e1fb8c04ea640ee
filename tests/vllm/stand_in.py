"""A stand-in for a vLLM server with the plugin: the embedded model answers in vLLM's JSON (see recorded.json)."""

import base64
import json
from codecs import getincrementaldecoder
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

CONTEXT = 256  # tokens, as the embedded model has


@dataclass
class Behaviour:
    """What the server does otherwise, and what it was sent: path and body of each request, and the keys."""

    names: tuple[str, ...] = ("served",)
    offsets: int = 8
    plugin: bool = True
    shared: bool = False  # whether each two tokens share a character, which the second of them has
    fails: tuple[int, str] | None = None
    cards: tuple[dict, ...] = ()
    dtype: str = "float32"
    reason: str = ""  # why every answer ends
    template: bool = True
    fails_after: int = 10**9  # requests
    sent: list = field(default_factory=list)
    keys: list = field(default_factory=list)


@contextmanager
def serving(lm, behaviour):
    """The address of a server, while the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            entries = [{"id": name, "root": name, "max_model_len": CONTEXT} for name in behaviour.names]
            entries += behaviour.cards
            self._reply(200, {"data": entries if self.path == "/v1/models" else []})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            behaviour.sent.append((self.path, body))
            behaviour.keys.append(self.headers["Authorization"])
            self._reply(*reply(lm, body, behaviour))

        def _reply(self, code, content):
            said = json.dumps(content).encode()
            self.send_response(code)
            if code in (301, 302):
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.02,))  # seconds until it sees that it is to end
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def reply(lm, body, behaviour):
    """The status and the content of a response."""
    if behaviour.fails and len(behaviour.sent) > behaviour.fails_after:
        code, said = behaviour.fails
        return code, said if isinstance(said, dict) else {"error": {"message": said, "code": code}}
    if "messages" in body and not behaviour.template:
        return 400, {"error": {"message": "no chat template", "code": 400}}
    if body["max_tokens"] > CONTEXT:
        return 400, {"error": {"message": f"max_tokens cannot be greater than {CONTEXT}", "code": 400}}
    return 200, answer(lm, body, behaviour)


def answer(lm, body, behaviour):
    """A response in vLLM's shape; its template writes the messages one after the other."""
    chat = "messages" in body
    prompt = "".join(message["content"] for message in body["messages"]) if chat else body["prompt"]
    room = CONTEXT - len(lm.encode(prompt, chat=False).ids)
    found = _response(lm, body, behaviour, prompt, room, chat=chat)
    return found | {"kv_transfer_params": None} if body.get("stop") else found  # as vLLM does


def _response(lm, body, behaviour, prompt, room, *, chat):
    drawn = {name: body[name] for name in ("temperature", "top_p", "top_k", "seed") if body["temperature"]}
    trace = lm.generate(
        prompt,
        chat=False,
        max_new_tokens=min(body["max_tokens"], room),  # as vLLM shortens it
        stop=body.get("stop") or (),
        do_sample=bool(drawn),
        offsets=behaviour.offsets,
        **drawn,
    )
    rows = [
        (text, logprob, [(other.text, other.logprob) for other in others])
        for text, logprob, others in zip(
            _texts(trace, behaviour), trace.logprobs.tolist(), trace.alternatives, strict=True
        )
    ]
    ids = {"prompt_token_ids": trace.prompt_ids.tolist()}
    choice = {
        "finish_reason": behaviour.reason or ("length" if trace.stop_reason == "length" else "stop"),
        "stop_reason": None,
        "token_ids": trace.answer_ids.tolist(),
        **({"logprobs": _chat_rows(rows)} if chat else {"text": trace.answer, "logprobs": _rows(rows), **ids}),
    }
    found = {"rauq": _found(trace, behaviour)} if behaviour.plugin else None
    whole = {"model": body["model"], "choices": [choice], "kv_transfer_params": found}
    return whole | (ids | {"prompt_text": prompt} if chat else {})


def _texts(trace, behaviour):
    """The texts of the tokens, of which a request has no more than its own."""
    decoder = getincrementaldecoder("utf-8")("replace")
    texts = [decoder.decode(piece) for piece in trace.pieces]
    if not behaviour.shared:
        return texts
    before = ["\ufffd", *texts]
    places = range(len(trace.prompt_ids), len(trace.prompt_ids) + len(texts))
    return [one + text if place % 2 else "" for place, one, text in zip(places, before, texts, strict=False)]


def _chat_rows(rows):
    return {
        "content": [
            {
                "token": token,
                "bytes": list(token.encode()),
                "logprob": logprob,
                "top_logprobs": [{"token": other, "logprob": value} for other, value in others],
            }
            for token, logprob, others in rows
        ]
    }


def _rows(rows):
    return {
        "tokens": [token for token, _, _ in rows],
        "token_logprobs": [logprob for _, logprob, _ in rows],
        "top_logprobs": [dict(others) for _, _, others in rows],
    }


def _found(trace, behaviour):
    rows = trace.attention[:, :, :-1].astype("<f4")
    return {
        "schema": 1,
        "engine": "vllm 0.32.0",
        "dtype": behaviour.dtype,
        "quantisation": "",
        "revision": "",
        "num_layers": trace.num_layers,
        "vocab_size": trace.vocab_size,
        "layers": list(trace.layers),
        "entropies": trace.entropies.tolist(),
        "shape": list(rows.shape),
        "attention": base64.b64encode(rows.tobytes()).decode(),
    }
