# ruff: noqa: RUF001 - letters that look alike are the point
"""200 texts that tokenizers disagree on: spaces, digits, contractions, scripts, signs and code."""

import random

SEEDS = (
    *("", " ", "  ", "\n", "\t", "\r\n", "\n\n\n", " \n ", "\u3000", "\u00a0", "\ufeff", "\u200b", "a", "0"),
    *("Hello world", " leading", "trailing ", "two  spaces", "three   spaces   1", "tab\tand\t\ttabs", "a\nb\n\nc"),
    *("1234567890", "in 2024", "in  2024", "3.14159", "1,000,000", "-42", "x2y3", "½ ² Ⅻ ๓ ٣", "No.7 of 12", "  7  8"),
    *("I'm you're he'll they'd we've it's don't", "I'M YOU'RE HE'LL", "rock 'n' roll", "'s", "''''", "l'été"),
    *("naïve café", "nai\u0308ve cafe\u0301", "Ångström A\u030angstro\u0308m", "ﬁ ﬂ", "ǅ ǆ", "Straße STRASSE"),
    *("日本語のテキスト", "中文字符，标点。", "한국어 텍스트", "नमस्ते दुनिया", "مرحبا بالعالم", "שלום עולם", "ไทยภาษา"),
    *("Привет, мир!", "Γειά σου Κόσμε", "ᏣᎳᎩ", "𝒜𝓁𝓅𝒽𝒶", "😀😃", "👩‍👩‍👧‍👦 family", "🇫🇷🇩🇪", "e\u0301\u0301\u0301"),
    *("def f(x):\n    return x ** 2  # square\n", "for (int i=0;i<10;++i) { a[i] = i; }", "if (a&&b||!c) x->y::z();"),
    *(
        "https://example.org/a/b?c=d&e=f#g",
        "/usr/bin/env",
        "C:\\Users\\x",
        "a@b.c",
        "#hashtag @user",
        "$x^2$ \\frac{1}{2}",
    ),
    *("!!!???...", "--- *** ___", "(a)[b]{c}<d>", "…—–-", "«quoted» “quoted” ‘q’", "snake_case camelCase PascalCase"),
    *("\x00\x01\x7f", "a\u2028b\u2029c", "\u202eabc", "MiXeD CaSe", "ALL CAPS", "a" * 40, " " * 17 + "x", "\n" * 9),
    *("<|im_start|>user\nhi<|im_end|>\n", "<s>text</s>", "<|eot_id|>", "a<|im_end|> b", "▁under▁", "Ġ", "<0x0A>"),
)
COUNT = 200


def token_texts():
    """The seeds, and mixtures of them."""
    chosen = random.Random(0)
    mixed = [
        chosen.choice(("", " ", "  ", "\n")).join(chosen.sample(SEEDS, chosen.randint(2, 5)))
        for _ in range(COUNT - len(SEEDS))
    ]
    return [*SEEDS, *mixed]
