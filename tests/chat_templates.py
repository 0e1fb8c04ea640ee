"""Chat templates in the forms that well-known models ship, and a byte tokenizer that knows their marks."""

from dataclasses import dataclass

from tokenizers import AddedToken, processors

from tests.architectures import ARCHITECTURES, byte_tokenizer, tiny_model

_TURNS = "{% for message in messages %}"


@dataclass(frozen=True)
class Template:
    """A template, its special tokens besides <s> and </s>, and a conversation as it must be rendered.

    `text` is that of the system's "Be brief.", the user's "Hi", the assistant's "Hello" and the user's "Who?"; where
    the template refuses a system message it begins with "Hi". `plain` is that of the user's "Hi" alone.
    """

    name: str
    source: str
    special: tuple[str, ...]
    text: str
    plain: str
    takes_system: bool = True

    def __str__(self) -> str:
        return self.name


CHATML = Template(
    name="chatml",
    source=(
        _TURNS + "{% if loop.first and message.role != 'system' %}<|im_start|>system\nYou are helpful.<|im_end|>\n"
        "{% endif %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
        "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    ),
    special=("<|im_start|>", "<|im_end|>"),
    text=(
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello"
        "<|im_end|>\n<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    ),
    plain=("<|im_start|>system\nYou are helpful.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"),
)
LLAMA3 = Template(
    name="llama3",
    source=(
        "{{ bos_token }}" + _TURNS + "<|head|>{{ message.role }}<|end_head|>\n\n{% if loop.first %}Today: "
        "{{ today | default('Monday') }}\n\n{% endif %}{{ message.content | trim }}<|eot|>{% endfor %}"
        "{% if add_generation_prompt %}<|head|>assistant<|end_head|>\n\n{% endif %}"
    ),
    special=("<|head|>", "<|end_head|>", "<|eot|>"),
    text=(
        "<s><|head|>system<|end_head|>\n\nToday: Monday\n\nBe brief.<|eot|><|head|>user<|end_head|>\n\nHi<|eot|>"
        "<|head|>assistant<|end_head|>\n\nHello<|eot|><|head|>user<|end_head|>\n\nWho?<|eot|>"
        "<|head|>assistant<|end_head|>\n\n"
    ),
    plain="<s><|head|>user<|end_head|>\n\nToday: Monday\n\nHi<|eot|><|head|>assistant<|end_head|>\n\n",
)
GEMMA = Template(
    name="gemma",
    source=(
        "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
        "{% endif %}" + _TURNS + "{% if (message.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Conversation roles must alternate') }}{% endif %}<start_of_turn>"
        "{{ 'model' if message.role == 'assistant' else 'user' }}\n{{ message.content | trim }}<end_of_turn>\n"
        "{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    ),
    special=("<start_of_turn>", "<end_of_turn>"),
    text=(
        "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nHello<end_of_turn>\n<start_of_turn>user\nWho?"
        "<end_of_turn>\n<start_of_turn>model\n"
    ),
    plain="<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
    takes_system=False,
)
LLAMA2 = Template(
    name="llama2",
    source=(
        "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% set head = '<<SYS>>\n' + "
        "messages[0].content + '\n<</SYS>>\n\n' %}{% else %}{% set rest = messages %}{% set head = '' %}{% endif %}"
        "{% for message in rest %}{% if message.role == 'user' %}{{ bos_token }}[INST] "
        "{{ (head if loop.first else '') + message.content }} [/INST]{% else %} {{ message.content }} {{ eos_token }}"
        "{% endif %}{% endfor %}"
    ),
    special=(),
    text="<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>[INST] Who? [/INST]",
    plain="<s>[INST] Hi [/INST]",
)
ZEPHYR = Template(
    name="zephyr",
    source=(
        _TURNS + "<|{{ message.role }}|>\n{{ message.content }}{{ eos_token }}\n{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    special=(),
    text="<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n<|assistant|>\nHello</s>\n<|user|>\nWho?</s>\n<|assistant|>\n",
    plain="<|user|>\nHi</s>\n<|assistant|>\n",
)
DEEPSEEK = Template(
    name="deepseek",
    source=(
        "{{ bos_token }}" + _TURNS + "{% if message.role == 'system' %}{{ message.content }}"
        "{% elif message.role == 'user' %}<|User|>{{ message.content }}{% else %}<|Assistant|>{{ message.content }}"
        "{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|Assistant|>{% endif %}"
    ),
    special=("<|User|>", "<|Assistant|>"),
    text="<s>Be brief.<|User|>Hi<|Assistant|>Hello</s><|User|>Who?<|Assistant|>",
    plain="<s><|User|>Hi<|Assistant|>",
)
TEMPLATES = (CHATML, LLAMA3, GEMMA, LLAMA2, ZEPHYR, DEEPSEEK)


def chat_tokenizer(template, *, adds_begin=False):
    """The byte tokenizer with this template and its special tokens; it may begin every text with <s>."""
    tokenizer = byte_tokenizer()
    tokenizer.add_tokens([AddedToken(name, special=True, normalized=False) for name in template.special])
    if adds_begin:
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            "<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)]
        )
    tokenizer.chat_template = template.source
    return tokenizer


def chat_model(template, *, adds_begin=False):
    """A tiny random model for this tokenizer, which knows its special tokens."""
    tokenizer = chat_tokenizer(template, adds_begin=adds_begin)
    return tiny_model(ARCHITECTURES[0], vocab_size=len(tokenizer)), tokenizer
