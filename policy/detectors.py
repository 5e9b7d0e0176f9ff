"""The detectors that come with the package, in five languages; a policy adds to them or switches them off (AUTO-4).

They are as narrow as ordinary talk of a business asks for: to say that the price will be found out is routine, the price
is not. ``discreet policy detectors`` prints all that are in force.
"""

# ruff: noqa: E501, ISC004 - a pattern is read in one piece

from typing import Final

from policy.content import ContentClass, Detector, HardStop

_PARTY: Final = r"(?:another|other|different) (?:client|customer|partner|tenant)s?"

_WE_HAVE: Final = r"\b(?:I|we)(?: have|'ve|’ve)?(?: just| now| already)?"
_MONEY: Final = (
    r"(?:money|funds|amount|sum|balance|payment|deposit|invoice|Geld|Betrag|Summe|Zahlung|Rechnung|деньг|средств|сумм|сч[её]т"
    r"|dinero|importe|suma|fondos|factura|пари|сума|фактур)"
)
_COINS: Final = (
    r"(?:(?:[$€£¥₽]|\b(?:USD|EUR|GBP|CHF|RUB|BGN)\b) ?[0-9]|[0-9][0-9.,'\x{a0}\x{202f}]*(?: [0-9]{3})* ?(?:[$€£¥₽]|USD|EUR|GBP|CHF|RUB|BGN"
    r"|euros?\b|dollars?\b|pounds?\b|bucks\b|Franken\b|d[óo]lares\b|pesos\b|francos\b|руб|долл|евро|лев|лв))"
)
"""A sum with its currency: three parcels are none."""
_BARE: Final = r"[0-9][0-9.,]*(?: ?(?:$|[.!?;:\n])| (?:to|back|into|onto|of|again|today|yesterday|now|already)\b| (?:на|вам|обратно|по|a|en)(?:$|[^\pL]))"
"""A number with which a sentence ends, or that goes somewhere: what is counted would stand behind it."""
_REGISTRY: Final = r"(?:npm|PyPI|crates\.io|RubyGems|NuGet|Maven Central|Docker Hub)"

PACKAGE: Final[tuple[Detector, ...]] = (
    Detector(
        raises=ContentClass.PRICES,
        amounts=True,
        words=(
            *("our price is", "the price is", "costs per", "price list", "per seat per month", "discount of"),
            *("цена составляет", "стоимость составляет", "цена за", "прайс-лист", "скидка в", "скидку в"),
            *("el precio es", "lista de precios", "descuento del", "cuesta por"),
            *("цената е", "ценова листа", "отстъпка от"),
            *("der Preis beträgt", "Preisliste", "Rabatt von", "kostet pro"),
        ),
        patterns=(
            r"\b[0-9]+(?:[.,][0-9]+)? ?% ?(?:off\b|discount|rebate|cheaper|Rabatt|Nachlass|günstiger|скидк|отстъпк|de descuento)",
            r"\b(?:discount|rebate|Rabatt|Nachlass|descuento) (?:of |von |de |del )?[0-9]+(?:[.,][0-9]+)? ?%",
            r"(?:скидк|отстъпк)\pL* (?:в |на |от )?[0-9]+(?:[.,][0-9]+)? ?%",
            r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty|fifty|hundred|thousand)"
            r" (?:euros?|dollars?|pounds sterling)\b",
        ),
    ),
    Detector(
        raises=ContentClass.CONTRACT,
        words=(
            *("hereby agree", "hereby grant", "hereby undertake", "breach of contract", "termination of the agreement"),
            *("terminate the contract", "terminate the agreement", "amend the contract", "amendment to the contract"),
            *("force majeure", "indemnify", "indemnification", "limitation of liability", "liquidated damages"),
            *("penalty clause", "notice period of", "contract term", "non-disclosure agreement", "binding offer"),
            *("обязуемся по договору", "расторжение договора", "расторгнуть договор", "дополнительное соглашение"),
            *("форс-мажор", "неустойка", "неустойку", "неустойки", "пункт договора", "условия договора"),
            *(
                "rescisión del contrato",
                "rescindir el contrato",
                "cláusula del contrato",
                "fuerza mayor",
                "nos obligamos",
            ),
            *("penalización contractual", "modificación del contrato", "oferta vinculante"),
            *(
                "прекратяване на договора",
                "прекратим договора",
                "неустойки по",
                "форсмажор",
                "клауза от договора",
                "анекс към",
            ),
            *("Vertragsänderung", "Vertragsstrafe", "Vertrag kündigen", "Kündigung des Vertrags", "höhere Gewalt"),
            *("Haftungsbeschränkung", "Vertragsklausel", "Kündigungsfrist beträgt", "verbindliches Angebot"),
        ),
        patterns=(
            r"\b(?:the|this) (?:contract|agreement) (?:(?:shall|must)\b|will (?:not )?(?:be (?:void|binding|terminated|extended|renewed"
            r"|amended|cancelled|governed|concluded)|end|expire|renew|terminate|apply|remain|run|take effect|come into force)\b)",
            r"\b(?:clause|section|§) ?[0-9]+(?:\.[0-9]+)* of the (?:contract|agreement)",
        ),
    ),
    Detector(
        raises=ContentClass.LEGAL,
        words=(
            *("legal action", "lawsuit", "litigation", "cease and desist", "legal advice", "legally binding"),
            *("legally obliged", "we admit liability", "accept liability", "statute of limitations", "out-of-court"),
            *("settlement offer", "infringe*", "subpoena", "our lawyers", "sue you", "under GDPR"),
            *(
                "судебный иск",
                "подать в суд",
                "досудебн*",
                "юридическая консультация",
                "наши юристы",
                "исковое заявление",
            ),
            *("признаём ответственность", "признаем ответственность", "срок исковой давности"),
            *(
                "acciones legales",
                "demanda judicial",
                "asesoramiento jurídico",
                "nuestros abogados",
                "prescripción legal",
            ),
            *("legalmente vinculante", "asumimos la responsabilidad legal"),
            *("съдебен иск", "съдебно дело", "правен съвет", "нашите адвокати", "правно обвързващ*", "давностен срок"),
            *("rechtliche Schritte", "Klage erheben", "Rechtsberatung", "unsere Anwälte", "rechtsverbindlich*"),
            *("Unterlassungserklärung", "Verjährungsfrist", "außergerichtlich*", "Haftung anerkennen"),
        ),
    ),
    Detector(
        raises=ContentClass.PUBLIC_POST,
        words=(
            *("for immediate release", "press release", "public statement", "official statement"),
            *("пресс-релиз*", "официальное заявление", "nota de prensa", "comunicado de prensa", "declaración oficial"),
            *(
                "прессъобщение",
                "прес съобщение",
                "официално изявление",
                "Pressemitteilung*",
                "offizielle Stellungnahme",
            ),
        ),
    ),
    Detector(
        raises=ContentClass.UNVERIFIED_CLAIM,
        words=(
            *("we guarantee", "I guarantee", "guaranteed to", "is guaranteed", "risk-free", "clinically proven"),
            *("scientifically proven", "completely safe", "never fails", "best in the world", "world's best"),
            *("мы гарантируем", "гарантирую", "гарантированно", "клинически доказано", "полностью безопасно"),
            *("лучший в мире", "лучшая в мире", "без всякого риска"),
            *(
                "garantizamos",
                "le garantizo",
                "clínicamente probado",
                "totalmente seguro",
                "el mejor del mundo",
                "sin riesgo",
            ),
            *("гарантираме", "гарантирам", "клинично доказано", "напълно безопасно", "най-добрият в света", "без риск"),
            *(
                "wir garantieren",
                "ich garantiere",
                "garantiert",
                "klinisch bewiesen",
                "völlig sicher",
                "absolut sicher",
            ),
            *("weltbeste*", "ohne jedes Risiko"),
        ),
        patterns=(
            r"\b100 ?% (?:safe|secure|reliable|sicher|zuverlässig|seguro|безопасн|надёжн|надежн|надежден|сигурн)",
        ),
    ),
    Detector(
        raises=ContentClass.TECHNICAL_FIGURE,
        patterns=(
            r"\b[0-9]+(?:[.,][0-9]+)? ?(?:ms|µs|μs|ns|[KMGT]i?B/s|[kMGT]bit/s|[KMG]bps|rps|qps|req/s|tps|tokens/s|kWh?|MWh?"
            r"|[MG]Hz|dB[Am]?|hPa|psi|Nm|mAh|TFLOPS|IOPS|fps)\b",
            r"\b[0-9]+(?:[.,][0-9]+)? ?(?:мс|мкс|Мбит/с|Гбит/с|кВт|МГц|ГГц|дБ|об/мин|кВтч)(?:$|[^\pL\pN])",
            r"\b99(?:[.,][0-9]+)? ?% ?(?:uptime|availability|accuracy|Verfügbarkeit|Genauigkeit|de disponibilidad|de precisión"
            r"|доступност|точност|наличност|uptime)",
            r"\b(?:uptime|availability|accuracy|latency|throughput|Verfügbarkeit|Latenz|Durchsatz|disponibilidad|latencia)"
            r" (?:is |of |von |ist |de |es )+[0-9]",
            r"\b[0-9]+(?:[.,][0-9]+)?(?: ?x|×| times) (?:faster|slower|more efficient)",
        ),
    ),
    Detector(
        raises=HardStop.SIGNING,
        words=(
            *("I hereby sign", "we hereby sign", "signed on behalf of", "electronically signed by"),
            *("подписываю от имени", "подписано от имени", "подписано электронно", "мы подписали договор"),
            *("firmo en nombre de", "firmado en nombre de", "firmado electrónicamente", "hemos firmado el contrato"),
            *("подписвам от името", "подписано от името", "подписан електронно", "подписахме договора"),
            *("hiermit unterschreibe ich", "hiermit unterzeichne*", "elektronisch unterzeichnet von"),
        ),
        patterns=(
            r"(?m:(?:^|[\s:])/s/ \pL)",
            rf"{_WE_HAVE} signed (?:the|this|that|your|our|it|them|on behalf)\b",
            r"\b(?:ich habe|wir haben) (?:\pL+ ){1,3}(?:unterschrieben|unterzeichnet)",
            r"(?:^|[^\pL])я подписал\pL* (?:ваш\pL* |наш\pL* |этот )?(?:договор|документ|контракт|соглашени)",
            r"\bhe firmado (?:el|la|su|en)\b",
            r"(?:^|[^\pL])подписах (?:договора|документа|споразумението|анекса)",
        ),
    ),
    Detector(
        raises=HardStop.MOVING_MONEY,
        words=(
            *("payment initiated", "I have initiated the payment", "I have initiated the transfer", "sent the money"),
            *("the transfer has been executed", "мы перевели деньги", "деньги переведены", "перевод выполнен"),
            *("платёж проведён", "платеж проведен", "мы вернули деньги", "возврат средств выполнен", "я оплатил*"),
            *("hemos reembolsado", "transferencia realizada", "pago realizado", "парите са преведени"),
            *("преводът е извършен", "плащането е извършено", "възстановихме сумата"),
            *("ich habe überwiesen", "die Überweisung ist erfolgt", "die Zahlung wurde veranlasst"),
        ),
        patterns=(
            rf"{_WE_HAVE} (?:transferred|wired|refunded|paid|paid out) (?:you |them |him |her |it back |your |the |an? )*"
            rf"(?:{_MONEY}|{_COINS}|{_BARE})",
            rf"{_WE_HAVE} sent (?:you |them |him |her |it back |your |the |an? )*(?:(?:money|funds|amount|sum|payment)\b|{_COINS})",
            rf"{_WE_HAVE} refunded (?:you|it|them)\b",
            rf"\b(?:ich habe|wir haben) [^.!?\n]{{0,60}}(?:{_COINS}|{_MONEY})[^.!?\n]{{0,40}}(?:überwiesen|ausgezahlt|erstattet|bezahlt)",
            r"\b(?:ich habe|wir haben) [^.!?\n]{0,60}[0-9][0-9.,]* (?:überwiesen|ausgezahlt|erstattet)",
            rf"(?:^|[^\pL])(?:я|мы) (?:перев[её]л\pL*|перевели|оплатил\pL*) (?:вам |им )?(?:{_MONEY}|{_COINS}|{_BARE})",
            rf"\b(?:he|hemos) (?:transferido|pagado|reembolsado) (?:el |la |los |su |le )*(?:{_MONEY}|{_COINS}|{_BARE})",
            rf"(?:^|[^\pL])(?:преведох|преведохме|платих|платихме) (?:ви |им )?(?:{_MONEY}|{_COINS}|{_BARE})",
        ),
    ),
    Detector(
        raises=HardStop.ENTERING_CREDENTIALS,
        words=(
            *("reply with your password", "send me your password", "send us your password", "tell me your password"),
            *("text me your PIN", "send me your PIN", "send me the one-time code", "send me your one-time code"),
            *("я вошёл с вашим паролем", "я вошел с вашим паролем", "я ввёл ваш пароль", "я ввел ваш пароль"),
            *("пришлите пароль", "пришлите ваш пароль", "сообщите ваш пароль", "пришлите мне код из SMS"),
            *("he iniciado sesión con su contraseña", "he introducido su contraseña", "envíeme su contraseña"),
            *("envíenos su contraseña", "mándame tu contraseña", "влязох с вашата парола", "въведох вашата парола"),
            *("изпратете ми паролата", "изпратете паролата си", "ich habe Ihr Passwort eingegeben"),
            *("schicken Sie mir Ihr Passwort", "senden Sie uns Ihr Passwort", "schick mir dein Passwort"),
        ),
        patterns=(
            rf"{_WE_HAVE} (?:entered|typed in|used) (?:your|the) (?:password|credentials|PIN|card (?:details|number))",
            r"\b(?:I|we)(?: have|'ve|’ve| am| are)? (?:just |now )?logged in with your (?:password|credentials)",
            r"\bich habe mich (?:\pL+ ){0,3}mit (?:Ihrem|deinem) Passwort angemeldet",
        ),
    ),
    Detector(
        raises=HardStop.PUBLISHING_PACKAGES,
        words=(
            *(
                "npm publish",
                "yarn publish",
                "pnpm publish",
                "cargo publish",
                "twine upload",
                "gem push",
                "poetry publish",
            ),
            *("uv publish", "nuget push", "mvn deploy", "docker push"),
        ),
        patterns=(
            rf"{_WE_HAVE} (?:published|released|uploaded|pushed) [^!?\n]{{0,60}}(?:to|on) {_REGISTRY}\b",
            rf"\b(?:ich habe|wir haben) [^!?\n]{{0,60}}auf {_REGISTRY} (?:veröffentlicht|hochgeladen)",
            rf"(?:опубликовал\pL*|публикувах\pL*|publicado) [^!?\n]{{0,60}}(?:в|на|en) {_REGISTRY}\b",
        ),
    ),
    Detector(
        raises=HardStop.PASSING_ON_INFORMATION,
        words=(
            *(
                "our other client told",
                "our other customer told",
                "told us in confidence",
                "shared with us in confidence",
            ),
            *("другой наш клиент", "другого нашего клиента", "сообщил нам конфиденциально"),
            *("otro cliente nuestro", "otro de nuestros clientes", "nos contó en confianza"),
            *("друг наш клиент", "другия ни клиент", "ни сподели поверително"),
            *("unser anderer Kunde", "ein anderer Kunde von uns", "eines anderen Kunden", "uns vertraulich mitgeteilt"),
        ),
        patterns=(
            rf"\b{_PARTY} of ours (?:\pL+ )?(?:pays|paid|told|said|uses|ordered|signed|plans|has)\b",
            rf"\b{_PARTY}(?:'s|’s|s') (?:price|prices|contract|order|orders|terms|data|figures)\b",
        ),
    ),
)
