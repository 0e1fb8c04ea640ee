"""Chat templates that take messages in other forms than one text each: parts, tools, escapes, thinking.

Each has the form of a family of published models, in our own words.
"""

from dataclasses import dataclass

from tests.chat_templates import DEEPSEEK, GEMMA, Template, chat_tokenizer

_EACH = "{% for message in messages %}"
_ASK = "{% if add_generation_prompt %}"
_HEAD = "<|im_start|>{{ message.role }}\n"
_NEXT = "<|im_end|>\n"
_CHATML_END = "{% endfor %}" + _ASK + "<|im_start|>assistant\n{% endif %}"
_MARKS = ("<|im_start|>", "<|im_end|>")


def chatml(body, *, start="", end=_CHATML_END):
    """A template of turns in ChatML, with this text in place of a message's content."""
    return start + _EACH + _HEAD + body + _NEXT + end


@dataclass(frozen=True)
class ContentForm:
    """A template and what it writes for "Hi", and for the parts "One." and "Two?"; `says` is in the note on "Hi"."""

    name: str
    source: str
    plain: str
    parts: str
    says: str = ""

    def __str__(self) -> str:
        return self.name


_LOOP = "{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% endif %}{% endfor %}"
_EITHER = "{% if message.content is string %}{{ message.content }}{% else %}" + _LOOP + "{% endif %}"
_TEXTS = "{% for part in message.content | selectattr('type', 'equalto', 'text') %}{{ part.text }} {% endfor %}"
_MACRO = (
    "{% macro visible(content) %}{% if content is string %}{{ content }}{% else %}{% for item in content %}"
    "{{ item if item is string else item.text }}{% endfor %}{% endif %}{% endmacro %}"
)
_TURN, _ANSWER = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"


def _in_chatml(name, body, *, parts, plain="Hi", says="", **how):
    return ContentForm(name, chatml(body, **how), f"{_TURN}{plain}{_ANSWER}", f"{_TURN}{parts}{_ANSWER}", says)


_PARTS, _JOINED = "in parts", "joined"
CONTENT_FORMS = (
    ContentForm(
        "smolvlm",
        "<|im_start|>" + _EACH + "{{ message.role | capitalize }}{% if message.content[0].type == 'image' %}:{% else %}"
        ": {% endif %}" + _LOOP + "<|im_end|>\n{% endfor %}" + _ASK + "Assistant:{% endif %}",
        "<|im_start|>User: Hi<|im_end|>\nAssistant:",
        "<|im_start|>User: One.Two?<|im_end|>\nAssistant:",
        _PARTS,
    ),
    ContentForm(
        "llava",
        _EACH
        + "{% if message.role != 'system' %}{{ message.role.upper() }}: {% endif %}"
        + _TEXTS
        + "{% endfor %}"
        + _ASK
        + "ASSISTANT:{% endif %}",
        "USER: Hi ASSISTANT:",
        "USER: One. Two? ASSISTANT:",
        _PARTS,
    ),
    ContentForm(
        "pixtral",
        "{% if messages[0].role == 'system' %}{% set system = messages[0].content + '\n\n' %}{% set rest = messages[1:]"
        " %}{% else %}{% set system = '' %}{% set rest = messages %}{% endif %}{% for message in rest %}{% if "
        "message.role == 'user' %}[INST]{{ system if loop.last }}" + _EITHER + "[/INST]{% else %} {{ message.content }}"
        "</s>{% endif %}{% endfor %}",
        "[INST]Hi[/INST]",
        "[INST]One.Two?[/INST]",
    ),
    ContentForm(
        "gemma3",
        "{{ bos_token }}{% if messages[0].role == 'system' %}{% set first = messages[0].content ~ '\n\n' %}"
        "{% set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
        "{% for message in rest %}<turn>{{ 'model' if message.role == 'assistant' else message.role }}\n"
        "{{ first if loop.first }}{% if message.content is string %}{{ message.content | trim }}{% else %}"
        "{% for part in message.content %}{{ part.text | trim }}{% endfor %}{% endif %}</turn>\n{% endfor %}"
        + _ASK
        + "<turn>model\n{% endif %}",
        "<s><turn>user\nHi</turn>\n<turn>model\n",
        "<s><turn>user\nOne.Two?</turn>\n<turn>model\n",
    ),
    _in_chatml("qwen2-vl", _EITHER, parts="One.Two?"),
    _in_chatml("glm", "{{ visible(message.content) }}", parts="One.Two?", start=_MACRO),
    _in_chatml("first part", "{{ message.content[0].text + '' }}", parts="One.\nTwo?", says=_PARTS),
    _in_chatml(
        "parts but for the system",
        "{{ message.content | tojson if message.role == 'system' else message.content[0].text + '' }}",
        parts="One.\nTwo?",
        says=_PARTS,
    ),
    _in_chatml(
        "parts of the user alone",
        "{{ message.content[0].text + '' if message.role == 'user' else message.content }}",
        parts="One.\nTwo?",
        says=_PARTS,
    ),
    _in_chatml("text alone", "{{ message.content }}", parts="One.\nTwo?"),
    _in_chatml("trimmed", "{{ message['content'] | trim }}", parts="One.\nTwo?"),
    _in_chatml("json", "{{ message.content | tojson }}", plain='"Hi"', parts='"One.\\nTwo?"'),
    _in_chatml("html", "{{ message.content | e }}", parts="One.\nTwo?"),
)

CHANGING = (
    ("lower case", chatml("{{ message.content | lower }}")),
    ("cut", chatml("{{ message.content[:2] }}")),
    ("nothing", chatml("")),
    ("marks taken out", chatml("{{ message.content | replace('<think>', '') }}")),
    (
        "image parts alone",
        chatml("{% for part in message.content %}{% if part.type == 'image' %}<image>{% endif %}{% endfor %}"),
    ),
)


def tokenizer_of(source, special=_MARKS):
    """The byte tokenizer with this template and these special tokens."""
    return chat_tokenizer(Template(name="", source=source, special=special, text="", plain=""))


_ARGUMENTS = '{"city": "Ålesund"}'
CALL = {"id": "call00001", "type": "function", "function": {"name": "weather", "arguments": _ARGUMENTS}}
TOOL_TALK = (
    {"role": "user", "content": "Rain?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call00001", "content": '{"mm": 3}'},
)
_CALLS = "{% for call in message.tool_calls %}{% set call = call.function %}"
_RESULT = "{% elif message.role == 'tool' %}"
_OTHERS = "{% else %}<{{ message.role }}>{{ message.content }}{% endif %}{% endfor %}" + _ASK + "<assistant>{% endif %}"
_WITH_CALLS = _EACH + "{% if message.tool_calls %}<assistant>{{ message.content }}" + _CALLS


def _tools(call, result):
    return _WITH_CALLS + call + "{% endfor %}" + _RESULT + result + _OTHERS


@dataclass(frozen=True)
class ToolForm:
    """A template, and what it writes for TOOL_TALK, or what the error about it says."""

    name: str
    source: str
    text: str = ""
    says: str = ""

    def __str__(self) -> str:
        return self.name


_AS_JSON = '{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}'
_CALLED, _FOUND = f'<user>Rain?<assistant>{{"name": "weather", "arguments": {_ARGUMENTS}}}', '{"mm": 3}'
_RESPONSE = "<user>{{ message.content }}!"
TOOL_FORMS = (
    ToolForm(
        "hermes",
        _tools(_AS_JSON, _RESPONSE),
        f"{_CALLED}<user>{_FOUND}!<assistant>",
    ),
    ToolForm(
        "text or record",
        _tools(
            "{{ call.name }}{{ call.arguments if call.arguments is string else call.arguments | tojson }}", _RESPONSE
        ),
        '<user>Rain?<assistant>weather{"city": "Ålesund"}<user>{"mm": 3}!<assistant>',
    ),
    ToolForm(
        "deepseek",
        _tools("{{ call.name + '\n' + call.arguments }}", "<out>{{ message.content }}"),
        '<user>Rain?<assistant>weather\n{"city": "Ålesund"}<out>{"mm": 3}<assistant>',
    ),
    ToolForm(
        "prints what it gets",
        _tools("{{ call.name }}({{ call.arguments }})", "<out>{{ message.content }}"),
        '<user>Rain?<assistant>weather({"city": "Ålesund"})<out>{"mm": 3}<assistant>',
    ),
    ToolForm(
        "glm",
        _tools("{{ call.name }}{% for k, v in call.arguments.items() %}, {{ k }}: {{ v }}{% endfor %}", _RESPONSE),
        '<user>Rain?<assistant>weather, city: Ålesund<user>{"mm": 3}!<assistant>',
    ),
    ToolForm(
        "llama3.1",
        _tools(_AS_JSON, "<ipython>{{ message.content | tojson }}"),
        _CALLED + r'<ipython>"{\"mm\": 3}"<assistant>',
    ),
    ToolForm(
        "mistral",
        _tools(
            "{% if call.name is undefined %}{{ raise_exception('no name') }}{% endif %}" + _AS_JSON,
            "{% if message.tool_call_id is undefined or message.tool_call_id | length != 9 %}"
            "{{ raise_exception('Tool call IDs should have 9 characters') }}{% endif %}"
            "<out>{{ message.tool_call_id }}:{{ message.content }}",
        ),
        f"{_CALLED}<out>call00001:{_FOUND}<assistant>",
    ),
    ToolForm("calls left out", chatml("{{ message.content }}"), says="leaves out or changes the calls in a message"),
    ToolForm("arguments left out", _tools("{{ call.name }}", _RESPONSE), says="leaves out or changes the calls"),
    ToolForm("results left out", _tools(_AS_JSON, ""), says=r"leaves out .* of role tool \(message 2"),
    ToolForm(
        "results of the assistant", _tools(_AS_JSON, "<assistant>{{ message.content }}"), says="not know the role tool"
    ),
    ToolForm("gemma", GEMMA.source, says=r"fails \(Conversation roles must alternate\)\. It may know no tools"),
    ToolForm("deepseek of old", DEEPSEEK.source, says="leaves out or changes the calls in a message"),
)


@dataclass(frozen=True)
class ThinkingForm:
    """A template of a reasoning model, with its marks, and whether its prompt begins the thinking."""

    name: str
    source: str
    opening: str
    closing: str
    opens: bool = False
    special: tuple[str, ...] = _MARKS

    def __str__(self) -> str:
        return self.name


def _think(name, body, opening, closing, *, begins="", **how):
    """A template of turns in ChatML that begins an answer with this text."""
    end = f"{{% endfor %}}{_ASK}<|im_start|>assistant\n{begins}{{% endif %}}"
    return ThinkingForm(name, chatml(body, end=end, start=how.pop("start", "")), opening, closing, bool(begins), **how)


def _rest_after(mark):
    """What a template writes for a message, with earlier answers cut off up to this text."""
    return f"{{{{ message.content.split('{mark}')[-1] if message.role == 'assistant' else message.content }}}}"


def _cut(name, opening, closing, *, begins=""):
    """A template that cuts off the thinking of earlier answers."""
    return _think(name, _rest_after(closing), opening, closing, begins=begins)


def _field(name, opening, closing):
    """A template that writes thinking from a field of its own."""
    thought = f"{opening}\n{{{{ message.reasoning_content }}}}\n{closing}"
    body = f"{{% if message.reasoning_content %}}{thought}{{% endif %}}{{{{ message.content }}}}"
    return _think(name, body, opening, closing)


_PLAIN = "{{ message.content }}"
_BESIDE_CALLS = (
    "{% if message.reasoning and message.tool_calls %}<|channel>thought\n{{ message.reasoning }}<channel|>{% endif %}"
    "{% for part in message.content.split('<channel|>') %}{{ part.split('<|channel>')[0] }}{% endfor %}"
)
_SEED = "{% set first, last = '<seed:think>', '</seed:think>' %}{{ message.content }}"
_OWN = ("<|thinking_start|>", "<|thinking_end|>")
THINKING_FORMS = (
    _cut("qwen3", "<think>", "</think>"),
    _cut("deepseek-r1", "<think>", "</think>", begins="<think>\n"),
    _field("cohere", "<|START_THINKING|>", "<|END_THINKING|>"),
    _think("magistral", _PLAIN, "[THINK]", "[/THINK]", start="Draft in [THINK] and [/THINK].\n"),
    _think("seed", _SEED, "<seed:think>", "</seed:think>"),
    _cut("exaone", "<thought>", "</thought>", begins="<thought>\n"),
    _cut("reka", "<reasoning>", "</reasoning>", begins="<reasoning>\n"),
    _think("openthinker", _PLAIN, "<|begin_of_thought|>", "<|end_of_thought|>",
           start="First <|begin_of_thought|> and <|end_of_thought|>.\n"),
    _cut("kimi-vl", "◁think▷", "◁/think▷"),
    _field("gemma4", "<|channel>thought", "<channel|>"),
    _think("gemma4 beside calls", _BESIDE_CALLS, "<|channel>thought", "<channel|>"),
    _cut("apriel", "Here is my reasoning:", "[BEGIN FINAL RESPONSE]", begins="Here is my reasoning:\n"),
    _think("tokens alone", _PLAIN, *_OWN, special=(*_MARKS, *_OWN)),
    _think("no mark of its own", _PLAIN, "<think>", "</think>"),
)  # fmt: skip


def _header(mark):
    """A template that begins an answer with this line, earlier ones too, and cuts these at the same text."""
    before = f"{{{{ '{mark}\n' if message.role == 'assistant' }}}}"
    return f"{_EACH}{before}{_rest_after(mark)}\n\n{{% endfor %}}{_ASK}{mark}\n{{% endif %}}"


# Templates that have one of the marks <own:thought> and </own:thought>, and act on it.
SINGLE_MARKS = (chatml(_rest_after("</own:thought>")), _think("", _PLAIN, "", "", begins="<own:thought>\n").source)
# Templates without thinking marks of their own: what they cut at is no mark, and neither is a word in brackets.
UNMARKED = {
    "a cue": chatml(_rest_after("Final answer:")),
    "a cue after an opening mark": _cut("", "", "Final answer:", begins="<think>\n").source,
    "a cue after no thinking": _cut("", "", "Final answer:", begins="<think>\n\n</think>\n\n").source,
    "a name": _header("ASSISTANT:"),
    "a heading": _header("### Response:"),
    "an end of instructions": _header("[/INST]"),
    "an answer's mark": chatml(_rest_after("<answer>")),
    "an opening mark": chatml(_rest_after("[reasoning]")),
    "prose": chatml(_PLAIN, start="Cite [reasoning] and <thoughts>.\n"),
    "prose at the end": _think("", _PLAIN, "", "", begins="Cite [reasoning] and <thoughts>.\n").source,
}
