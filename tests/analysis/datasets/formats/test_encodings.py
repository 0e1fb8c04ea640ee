"""Short files of many languages in the encodings that programs still write: read as meant, or refused by name."""

# ruff: noqa: RUF001 - letters of other languages

import pytest

from analysis.datasets.formats.encodings import encoding_of
from rauq.errors import InvalidInput

TEXTS = {
    "cp1252 latin-1 iso8859-15 mac_roman cp850": [
        "question,réponse\nQuelle est la capitale de la France ?,Paris\nOù est la tour ?,à Paris\n",
        "Frage,Antwort\nWie heißt die Hauptstadt von Österreich?,Wien\nWelcher Fluss fließt durch Köln?,der Rhein\n",
        "pregunta,respuesta\n¿Cuál es la capital de España?,Madrid\n¿Qué país está al oeste?,Portugal\n",
    ],
    "cp1252 latin-1": [
        "spørgsmål,svar\nHvad er hovedstaden i Danmark?,København\nHvilken ø er størst?,Sjælland\n",
        "domanda,risposta\nQual è la capitale d'Italia?,Roma\nPerché il cielo è blu?,Per la luce\n",
        "question,answer\nIn which country is Zürich?,Switzerland\nIn which one is São Paulo?,Brazil\n",
        "prompt,answer\nIt is 5 °C. Why?,Déjà vu costs £5\n",
    ],
    "cp1252": ["prompt,answer\nWhat’s “it”?,Yes – it’s so…\n", "q,r\nComment ça va ?,Ça va\n"],
    "cp1250 iso8859-2": [
        "pytanie,odpowiedź\nKto napisał Pana Tadeusza?,Adam Mickiewicz\nGdzie leży Łódź?,W środkowej Polsce\n",
        "otázka,odpověď\nJaké je hlavní město České republiky?,Praha\nKdo napsal Švejka?,Jaroslav Hašek\n",
        "întrebare,răspuns\nCare este capitala României?,Bucureşti\nUnde este Iaşi?,În Moldova\n",
    ],
    "cp1254 iso8859-9": ["soru,cevap\nTürkiye'nin başkenti neresidir?,Ankara\nKaç il vardır?,Seksen bir\nAğrı,Dağı\n"],
    "cp1257": ["jautājums,atbilde\nKāda ir Latvijas galvaspilsēta?,Rīga\nKurš rakstīja Lāčplēsi?,Pumpurs\n"],
    "cp1251 koi8-r iso8859-5 mac_cyrillic cp866": [
        "вопрос,ответ\nКакой город является столицей России?,Москва\nГде находится Байкал?,В Сибири\n"
    ],
    "cp1251 koi8-u": ["питання,відповідь\nЯке місто є столицею України?,Київ\nХто написав «Кобзар»?,Шевченко\n"],
    "cp1253 iso8859-7": ["ερώτηση,απάντηση\nΠοια είναι η πρωτεύουσα της Ελλάδας;,Αθήνα\n"],
    "cp1255": ["שאלה,תשובה\nמהי בירת צרפת?,פריז\nמי כתב את הספר?,עמוס עוז\n"],
    "cp1255 iso8859-8": [
        "שאלה,תשובה\nאיזה נהר עובר בלונדון?,התמזה\nכמה ימים בשבוע?,שבעה\nהיכן חיפה?,בצפון\nמי כתב את זה?,עמוס עוז\n"
    ],
    "cp1256": ["سؤال,جواب\nما هي عاصمة فرنسا؟,باريس\nأين تقع دمشق؟,في سوريا\n"],
    "cp874": ["คำถาม,คำตอบ\nเมืองหลวงของประเทศไทยคืออะไร,กรุงเทพมหานคร\n"],
    "gbk gb18030": [
        "问题,答案\n法国的首都是哪里？,巴黎\n",
        "question,answer\n谁写了《红楼梦》？,曹雪芹\nWhat?,一年有多少天\n",
    ],
    "big5 cp950": ["問題,答案\n法國的首都是哪裡？,巴黎\n台灣最高的山是什麼？,玉山\n"],
    "shift_jis euc_jp iso2022_jp": [
        "質問,回答\nフランスの首都はどこですか？,パリ\n日本で一番高い山は何ですか？,富士山\n"
    ],
    "euc_kr": ["질문,답변\n프랑스의 수도는 어디입니까?,파리\n부산은 어디에 있습니까?,남동쪽\n"],
}
CASES = [(encoding, text) for encodings, texts in TEXTS.items() for encoding in encodings.split() for text in texts]


@pytest.mark.parametrize(("encoding", "text"), CASES)
def test_a_short_file_is_read_as_it_was_meant_and_the_encoding_is_said(encoding, text):
    content = text.encode(encoding, errors="ignore")  # an older encoding has no € or …
    found, notes = encoding_of(content, "a.csv")
    assert content.decode(found) == content.decode(encoding)
    assert "was read as" in notes[0]


@pytest.mark.parametrize(
    ("text", "encoding", "named"),
    [
        ("prompt,reference\nCapital of France?,巴黎\n", "gbk", "GBK"),
        ("prompt,reference\n首都,東京\n", "euc_jp", "EUC-JP"),
        ("prompt,reference\nTranslate cat,חתול\nTranslate dog,כלב\n", "cp1255", "Windows-1255"),
        ("pytanie,odpowiedź\nKto napisał Pana Tadeusza?,Mickiewicz\n", "cp852", "DOS 852"),
        ("q,r\nComment ça va ?,Ça va\n", "cp850", "DOS 850"),
        ("question,answer\nIn which country is Zürich?,Switzerland\n", "mac_roman", "Mac Roman"),
    ],
)
def test_where_it_is_not_certain_the_likely_encodings_are_named(text, encoding, named):
    with pytest.raises(InvalidInput, match=f"is not UTF-8 and may be .*{named}.*Save it as UTF-8"):
        encoding_of(text.encode(encoding), "a.csv")


def test_windows_1252_is_read_where_others_make_sense_too_and_they_are_named():
    found, (note,) = encoding_of(
        "question,answer\nWhere are Zürich and São Paulo?,x\nWho is it?,y\n".encode("cp1252"), "a"
    )
    assert found == "cp1252"
    assert "was read as Windows-1252, though it may be Windows-1250. Check characters such as ü ã" in note
