"""Sums of money with a currency, as people write them in five languages (AUTO-4)."""

from typing import Final

_NUMBER: Final = r"[0-9](?:[0-9.,'’_\x{a0}\x{202f}\x{2009} ]*[0-9])?"
_SCALE: Final = (
    r"(?: ?(?:k|K|m|M|bn|mn|Mio\.?|Mrd\.?|Tsd\.?|тыс\.?|млн\.?|млрд\.?|хил\.?|mil|million(?:en|es)?|thousand|billion))?"
)
_SIGNS: Final = r"[$€£¥₽₴₸₺₹₩₪₫₱₦₡₲₵₭₮₼₾฿]"
_CODES_BEFORE: Final = (
    r"(?:USD|EUR|GBP|CHF|JPY|CNY|RUB|RUR|UAH|BGN|PLN|CZK|HUF|SEK|NOK|DKK|ISK|INR|AUD|CAD|NZD|SGD|HKD|KRW|BRL|MXN|ZAR|ILS"
    r"|AED|SAR|KZT|RSD|BYN|USDT|USDC|BTC|ETH|(?:US|A|C|CA|AU|NZ|HK|S)\$|R\$|zł|Kč|Fr\.|Rs\.?)"
)
_CODES_AFTER: Final = (
    r"(?:USD|EUR|GBP|CHF|JPY|CNY|RUB|RUR|UAH|BGN|PLN|CZK|HUF|SEK|NOK|DKK|ISK|INR|AUD|CAD|NZD|SGD|HKD|KRW|BRL|MXN|ZAR|ILS"
    r"|AED|SAR|KZT|RSD|BYN|USDT|USDC|BTC|ETH|TRY|RON|ARS|CLP|COP|PEN|AMD|GEL|MDL|THB|IDR|MYR|PHP|VND|EGP|MAD)"
)
_WORDS_AFTER: Final = (
    r"(?:euros?|eur|dollars?|usd|bucks|pounds sterling|gbp|yen|yuan|rupees?|roubles?|rubles?|levs?|leva|zloty\w*|cents?"
    r"|dólar(?:es)?|céntimos?|pesos|francos|libras esterlinas|rublos|franken|rubel|lewa|kronen|pfund sterling|chf"
    r"|евро|евра|еврo|доллар\pL*|долар\pL*|рубл\pL*|руб\.?|лева?|лв\.?|стотинк\pL*|копе(?:ек|йк\pL*)|гривен\pL*|грн\.?"
    r"|тенге|фунт\pL* стерлингов|щатски долар\pL*|юан\pL*|злот\pL*)"
)
_END: Final = r"(?:$|[^\pL\pN])"

AMOUNT: Final = (
    rf"{_SIGNS}[ \x{{a0}}\x{{202f}}]?{_NUMBER}"
    rf"|(?:^|[^\pL\pN]){_CODES_BEFORE}[ \x{{a0}}\x{{202f}}]?{_NUMBER}"
    rf"|{_NUMBER}{_SCALE}(?:,-|,–|\.–)?[ \x{{a0}}\x{{202f}}]?{_SIGNS}"
    rf"|{_NUMBER}{_SCALE}(?:,-|,–|\.–)?[ \x{{a0}}\x{{202f}}]?(?:{_CODES_AFTER}|zł|Kč){_END}"
    rf"|{_NUMBER}(?i:{_SCALE})[ \x{{a0}}\x{{202f}}]?(?i:{_WORDS_AFTER}){_END}"
    rf"|{_NUMBER} (?:kr\.?|р\.){_END}"
)
"""A sum, for RE2: the currency before or after, decimal comma or point, any way to part thousands."""
