"""What writing in each encoding looks like: the letters of languages, and the most frequent characters."""

from typing import NamedTuple


class Language(NamedTuple):
    """Letters beyond a to z, in lower case, and frequent words; `quotes`: it takes words from all others."""

    letters: str
    words: frozenset[str]
    quotes: bool = False


def _language(letters: str, words: str) -> Language:
    return Language(letters, frozenset(words.split()))


_WESTERN = (
    _language("àâæçéèêëîïôœùûüÿ", "le la les de des du et est en un une dans qui que pour quel quelle sur au combien"),
    _language("äöüß", "der die das und ist in von wie was wer mit den zu ein eine welche welcher viele hat im wo"),
    _language("áéíóúüñ", "el la los las de que en es un una por del cual quien con y se para donde al"),
    _language("áâãàçéêíóôõúü", "o a os as de que em um uma do da para qual quem com no na e foi onde"),
    _language("àèéìíîòóù", "il la di che e un una per del della qual chi con in si lo le dove d l"),
    _language("æøåéóòôäö", "og er i en et til af av hvad hva hvem hvor det den der som med mange hvilken"),
    _language("åäöéàü", "och i en ett av vad vem det den som med till hur vilken heter finns"),
    _language("äöåšž", "ja on ei se kuka kuinka monta joka oli mihin minne milloin"),
    _language("áéíóúýþæðö", "er og hver hvar sem var um af til margir heitir hvenær í á"),
    _language("éèëïöüóáêç", "de het een en van is in wat wie welke op voor met hoeveel"),
    _language("àçéèíïòóúü", "el la de i que en es un una per del qual qui amb on quants"),
    _language("äöüõšž", "on ja mis kes kus see ei kui mitu milline"),
    _language("çë", "e i dhe ku kush cila cili sa nga ka"),
)
_CENTRAL = (
    _language("ąćęłńóśźż", "w i na z jest nie to kto jaka jakie jaki co ile gdzie do od przez ma"),
    _language("áčďéěíňóřšťúůýž", "je v na se kdo co jak kde a z do kolik o jaké který má"),
    _language("áäčďéíĺľňóôŕšťúýž", "je v na sa kto ako kde a z do o cez je má aké"),
    _language("áéíóöőúüű", "a az hol ki mi melyik hogy nem van egy volt mikor mennyi"),
    _language("čćđšž", "je u i na se koji koja koje tko ko gdje od za su ima kroz"),
    _language("ăâîşţ", "este cine care ce unde din de la un o cu pe al prin are"),
    _language("äöüß", "der die das und ist in von wie was wer mit den zu ein eine welche welcher viele hat im wo"),
)
_TURKISH = (_language("çğıöşüâîû", "bir ve bu hangi hangisidir nedir kim neresidir ile en var için nerededir"),)
_BALTIC = (
    _language("ąčęėįšųūž", "ir yra kas kur kuri koks kokia kiek per ant"),
    _language("āčēģīķļņšūž", "ir un kas kur cik no kura kurs kad ko"),
    _language("äöüõšž", "on ja mis kes kus see ei kui mitu milline"),
)


def _with_english(languages: tuple[Language, ...]) -> tuple[Language, ...]:
    words = "the of and is in what who which to was how where when does for many are it he she that this not with you"
    return (
        *languages,
        Language("".join(language.letters for language in languages), frozenset(words.split()), quotes=True),
    )


WORDS_OF_ONE_LETTER = frozenset("àáâåèéêíòóôöøúő")
WESTERN, CENTRAL, TURKISH, BALTIC = map(_with_english, (_WESTERN, _CENTRAL, _TURKISH, _BALTIC))

# All letters of a script, the most frequent ones of a language first.
CYRILLIC = (
    "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "оанивертсіклдумпзяьбгйчхцїжєшщюґф",
    "аеоинтрсвлдпкмзгъубчяцжщшхйюфьѝ",
    "аоеиіутнрсвлкдпмзябыьгчйхцжшюэфўё",
    "аиоенртсвујдклмпзгбчшцњжљхћђфџ",
    "аоиентрсвкдулмпзгјбчшцжњхфљѓќџѕ",
)
GREEK = ("αοιετσνηυρκπμλςωδγχθφβξζψάόίέήύώϊϋΐΰ",)
HEBREW = ("יוהלאתרמשבנםעדכחפקצגטזסןךףץ",)
ARABIC = ("اليمنوترهبسعدفكحقجشةصخطضذزغأإىءئثظؤآ", "اینردهوتمسشبلکگزخفقپحجعچغصذطضظثژآئءؤ")
THAI = ("านรอกเงมยลวดทส่ตะคบป้แัิหีขชพจใไโำถซุูผฟ์ธณศษภญฉฝฐฎฏฆฒฌฬฮๆ็ึืฤๅ",)

# The most frequent characters of running text and of questions.
SIMPLIFIED = (
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好"
    "都没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已从动两长知民样现分将外但身与高意进法实回二理"
    "美点月明其种全工者情部正名定女问力机给等几业最间新什位因重被第门相次东政海口使教西再平真世信北少关并内加化由代产入先"
    "山五太水万市体别处总场师书比住员性通目报立马数件安表原应路何更反合做计或利受光王果界及今京制解各任物记题南度统字请爱论"
    "百科元结六首都谁哪答案城河"
)
TRADITIONAL = (
    "的一是不了在人有我他這中大來上國個到說們為子和你地出道也時年得就那要下以生會自著去之過家學對可她裡後小麼心多天而能好"
    "都沒日於起還發成事只作當想看文無開手十用主行方又如前所本見經頭面公同三已從動兩長知民樣現分將外但身與高意進法實回二理"
    "美點月明其種全工者情部正名定女問力機給等幾業最間新什位因重被第門相次東政海口使教西再平真世信北少關並內加化由代產入先"
    "山五太水萬市體別處總場師書比住員性通目報立馬數件安表原應路何更反合做計或利受光王果界及今京制解各任物記題南度統字請愛論"
    "百科元結六首誰哪答案城河灣"
)
HANGUL = (
    "이다는에의가을를은어니까하고지로서한기사인도나리대시일자해과수그들아정부것있무스입습누언제장주구보여왔었으요라"
)
KANA = (
    "のにはをたがでてとしれさいなかよりるもこあらそうまきくつすどっんアイウエオカキク"
    "ケコサシスタチテトナニネノハフプマミムメラリルレロンー"
)
