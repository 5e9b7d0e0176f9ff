"""What never reaches an outside audience, whatever its agent calls it (OUT-4).

Shapes, not meanings: traces, paths, keys, addresses, errors of model providers, the marks of reasoning, words of filing.
A shape is as narrow as ordinary business text asks for: public addresses, prices, times, dates, names of files, commands
and order numbers pass. Found text is never returned, only what kind it is.

All patterns run on RE2, in linear time; one pass over the text tells whether there is anything to name at all.
"""

# ruff: noqa: E501, ISC004 - a pattern is read in one piece

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from policy.content import Disclosure
from policy.search import Search, Wanted, literal


class Disclosed(StrEnum):
    """What a text gives away."""

    STACK_TRACE = "stack_trace"
    EXCEPTION = "exception"
    HOST_PATH = "host_path"
    SECRET = "secret"  # noqa: S105 - a code
    CONFIGURATION = "configuration"
    INTERNAL_ADDRESS = "internal_address"
    PROVIDER_ERROR = "provider_error"
    REASONING = "reasoning"
    STATUS = "status"
    LISTED = "listed"  # what the policy adds


_BEFORE: Final = r"(?:^|[\s\"'`(\[{<>=,:;|])"
"""What may stand before a path: never the host of an address."""
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_KEY: Final = r"[A-Za-z0-9_-]"

PATTERNS: Final[Mapping[Disclosed, tuple[str, ...]]] = {
    Disclosed.STACK_TRACE: (
        r"Traceback \(most recent call last\)",  # Python
        r"(?m:^\s*File \"[^\"\n]+\", line [0-9]+)",
        r"(?m:^\s*at [\w$.<>/@ ]+\((?:[\w$-]+\.(?:java|kt|scala|groovy|clj):[0-9]+|Native Method|Unknown Source)\))",
        r"Exception in thread \"",  # Java and its kin
        r"(?m:^\s*\.\.\. [0-9]+ (?:more|common frames omitted)$)",
        r"(?m:^\s*at [^\n]*(?:/|\.(?:[cm]?[jt]sx?|vue|svelte)|<anonymous>|node:)[^\s()]*:[0-9]+:[0-9]+\)?$)",  # JavaScript
        r"\b[\w.-]+\.(?:[cm]?[jt]sx?|vue):[0-9]+:[0-9]+\b",
        r"goroutine [0-9]+ \[",  # Go
        r"(?m:^panic: )|\bpanic: runtime error|\.go:[0-9]+ \+0x[0-9a-f]+",
        r"thread '[^'\n]*' (?:\([0-9]+\) )?panicked at|\bRUST_BACKTRACE\b|(?m:^\s*stack backtrace:)",  # Rust
        r"(?m:^\s*at [\w.<>`+\[\],]+\([^)\n]*\) in [^\n]+:line [0-9]+)",  # C#
        r"--- End of (?:inner exception )?stack trace|(?m:^\s*at (?:System|Microsoft)\.[\w.<>`+]+\()",
        r"\bPHP (?:Fatal|Parse) error:|Stack trace:\s*#0 |Fatal error: Uncaught |thrown in [^\n]+ on line [0-9]+",  # PHP
        r"(?m:^#[0-9]+ [^\n]+\.php\([0-9]+\))",
        r"\.rb:[0-9]+:in [`']",  # Ruby
        r"terminate called after throwing|\bcore dumped\b|Segmentation fault|stack smashing detected",  # C and C++
        r"AddressSanitizer|\bSIG(?:SEGV|ABRT|BUS|ILL)\b|(?m:^#[0-9]+ +0x[0-9a-f]{6,} in )",
        r"(?m:^\*\* \([A-Z][\w.]+\) )",  # Elixir
    ),
    Disclosed.EXCEPTION: (
        r"\b(?:[A-Za-z_][\w$]*\.)*[A-Z][\w$]+(?:Error|Exception)(?: \[[A-Z_0-9]+\])?: ?\S",
        r"\b(?:[a-z_][\w$]*\.){2,}[A-Z][\w$]*(?:Error|Exception|Violation|Timeout|Refused)\b",
        r"\bCaused by: [\w.$]+|\[Errno -?[0-9]+\]|\bErrno::[A-Z]|\bSQLSTATE\[|\bORA-[0-9]{5}\b",
        r"<[\w.]+ object at 0x[0-9a-fA-F]+>",
        r"\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EACCES|ENOENT|EPIPE)\b",
        r"Max retries exceeded with url|CERTIFICATE_VERIFY_FAILED|\b(?:exited|returned|ended|failed) with (?:non-zero )?exit (?:code|status)\b",
        r"(?:Unhandled|Uncaught) (?:promise )?(?:rejection|exception|TypeError|ReferenceError)",
        r"Cannot read propert(?:y|ies) of (?:undefined|null)|undefined is not a function",
    ),
    Disclosed.HOST_PATH: (
        rf"(?m:{_BEFORE}/(?:home|root|srv|var|etc|opt|usr|tmp|mnt|proc|sys|boot|run|dev|Users|Volumes|Library)/[\w.@~-])",
        rf"(?m:{_BEFORE}/(?:[\w.@-]+/)+[\w.@-]+\.(?:py|pyc|js|ts|rb|go|rs|java|php|cs|cpp|so|ya?ml|toml|ini|conf|cfg|env"
        r"|log|sock|db|sqlite3?|pem|key|service)\b)",
        rf"(?m:{_BEFORE}~/\.?[\w-]+/[\w.-])|(?m:{_BEFORE}\$(?:HOME|PWD|OLDPWD|XDG_\w+)/[\w.-])|(?m:{_BEFORE}/etc\b)",
        r"\b[A-Za-z]:\\[\w.$%-]|\b[A-Z]:/(?:Users|Windows|Program Files|ProgramData|inetpub)\b",
        r"\\\\[\w.-]+\\[\w.$-]",
        r"\bfile:///?[\w.%/-]",
        r"%(?:APPDATA|LOCALAPPDATA|USERPROFILE|SYSTEMROOT|PROGRAMDATA|TEMP)%",
    ),
    Disclosed.SECRET: (
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File|AGE-SECRET-KEY-1|BEGIN PGP PRIVATE",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}",  # JSON Web Tokens
        r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",  # AWS
        rf"\bgh[pousr]_[A-Za-z0-9]{{20,}}|\bgithub_pat_{_KEY}{{20,}}|\bgl(?:pat|dt|rt|ptt|cbt|soat|ft|agent)-{_KEY}{{16,}}",
        rf"\bsk-{_KEY}{{16,}}|\b(?:gsk|hf|r8|npm|xai|pplx|nvapi|lin_api|dop_v1|doo_v1|glsa|glc|rnd|fly)[_-]{_KEY}{{24,}}",
        rf"\bAIza{_KEY}{{30,}}|\bya29\.{_KEY}{{20,}}|\bGOCSPX-{_KEY}{{20,}}",  # Google
        rf"\bxox[abeoprs]-{_KEY}{{10,}}|\bxapp-[0-9]-{_KEY}{{10,}}|hooks\.slack\.com/services/[A-Z0-9]",  # Slack
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/]{16,}",  # Stripe
        rf"\bSG\.{_KEY}{{16,}}\.{_KEY}{{16,}}|\b(?:SK|AC)[0-9a-f]{{32}}\b|\bkey-[0-9a-f]{{32}}\b|\b[0-9a-f]{{32}}-us[0-9]+\b",
        rf"\b[0-9]{{8,10}}:[A-Za-z]{_KEY}{{34}}\b|\bsyt_[A-Za-z0-9+/=]+_[A-Za-z0-9]+_|\bm(?:ct|at|as)_[A-Za-z0-9]{{16,}}_",
        rf"\b[MNO]{_KEY}{{23,25}}\.{_KEY}{{6}}\.{_KEY}{{27}}",  # Discord
        rf"\bpypi-AgE{_KEY}{{20,}}|\bsq0(?:atp|csp|idp)-{_KEY}{{20}}|\bshp(?:at|ca|pa|ss)_[0-9a-f]{{30}}|\bdapi[0-9a-f]{{32}}",
        rf"\bATATT3{_KEY}{{20,}}|\bhvs\.{_KEY}{{20,}}|\bdckr_pat_{_KEY}{{20,}}|\bEAA[A-Za-z0-9]{{40,}}",
        r"AccountKey=[A-Za-z0-9+/=]{20,}|SharedAccessKey=|[?&](?:sig|X-Amz-Signature)=[A-Za-z0-9%+/=]{16,}",
        r"(?i:\bauthorization:\s*(?:bearer|basic|token)\s+\S{6,})|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{20,})",
        r"\b[a-z][a-z0-9+.-]*://[^\s:/@]*:[^\s@/]+@",  # user:password@host
        r"(?i:\b(?:server|data source|host)=[^;\n]+;[^\n]*\b(?:password|pwd)=[^;\s]+)",
        r"(?i:\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|secret[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?"
        r"secret|private[_-]?key|refresh[_-]?token|bot[_-]?token)[\"']?\s*[=:]\s*[\"']?[A-Za-z0-9+/_.~-]{8,})",
        r"(?im:(?:^|[\s\"'`{(,;])(?:[a-z0-9]+[_-])*(?:password|passwd|pwd|secret|token)\s?=\s?[\"']?[^\s\"'=]{4,})",
        r"(?i:\"(?:password|passwd|pwd|secret|token)\"\s*:\s*\"[^\"\n]+\")",
    ),
    Disclosed.CONFIGURATION: (
        r"(?m:^\s*(?:export |set |ENV )?[A-Z][A-Z0-9]*_[A-Z0-9_]+=\S)",
        r"(?m:^\s*#!/(?:usr/)?bin/)",
    ),
    Disclosed.INTERNAL_ADDRESS: (
        rf"(?m:(?:^|[^\w.])(?:10|127)(?:\.{_OCTET}){{3}}(?:$|[^\w.]|\.(?:\W|$)))",
        rf"(?m:(?:^|[^\w.])(?:192\.168|169\.254|172\.(?:1[6-9]|2[0-9]|3[01])|100\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7]))"
        rf"(?:\.{_OCTET}){{2}}(?:$|[^\w.]|\.(?:\W|$)))",
        r"\b0\.0\.0\.0\b",
        r"(?m:(?:^|[^\w:])(?i:fe80:|f[cd][0-9a-f]{2}:)[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*)",
        r"(?m:(?:^|[^\w:])::1(?:$|[^\w:]))",
        r"(?i:\blocalhost\b)",
        r"(?i:\b(?:[a-z0-9][a-z0-9-]*\.)+(?:internal|local|lan|corp|intranet|localdomain|home\.arpa|consul)(?:$|[^\w@-]))",
        r"(?i:\b[a-z0-9-]+\.[a-z0-9-]+\.svc\b)",
    ),
    Disclosed.PROVIDER_ERROR: (
        r"(?i:\b(?:rate_limit_(?:exceeded|error|reached)|insufficient_quota|invalid_api_key|context_length_exceeded"
        r"|invalid_request_error|overloaded_error|authentication_error|permission_error|not_found_error|api_error"
        r"|server_error|model_not_found|content_policy_violation|content_filter|billing_hard_limit_reached"
        r"|tokens_limit_reached|RESOURCE_EXHAUSTED|FAILED_PRECONDITION|quotaExceeded|ThrottlingException)\b)",
        r"\"error\"\s*:\s*[{\"]|\"type\"\s*:\s*\"error\"|'error'\s*:\s*\{",
        r"\bHTTP/[0-9](?:\.[0-9])? [1-5][0-9]{2}\b|\b(?:Error code|status[ _]?code|HTTP(?: error| status)?)[:= ]+[45][0-9]{2}\b",
        r"\b[45][0-9]{2} (?:Internal Server Error|Bad Gateway|Service Unavailable|Too Many Requests|Gateway Time-?out"
        r"|Client Error|Server Error|Unauthorized|Forbidden|Bad Request|Unprocessable)",
        r"(?i:maximum context length is|exceeded your current quota|incorrect api key provided)",
    ),
    Disclosed.REASONING: (
        r"(?i:</?(?:think|thinking|thought|thoughts|reasoning|scratchpad|reflection|analysis|chain_of_thought|cot|monologue"
        r"|inner_monologue|tool_call|tool_response|function_calls?|function_results|invoke|system|assistant)(?:[\s=][^<>\n]{0,80})?/?>)",
        r"<\|[\w ]{1,40}\|>|\[/?INST\]|<</?SYS>>|◁/?think▷",
        r"(?m:^\W{0,4}(?:Action Input|Final Answer)\W{0,3}:)|(?s:(?:^|\n)\W{0,4}Thought\W{0,3}:.*\n\W{0,4}(?:Action|Observation)\W{0,3}:)",
        r"(?i:\bchain[- ]of[- ]thought\b|\bmy (?:internal )?scratchpad\b)",
        r"\"(?:tool_calls|function_call|reasoning_content|tool_use_id)\"\s*:",
    ),
    Disclosed.STATUS: (
        r"(?i:\bfiled (?:it |this )?for (?:an? |the )?(?:operator|approval|review|human))",
        r"(?i:\b(?:pending|awaiting|awaits|waiting for|needs|requires) (?:an? |the |our )?(?:internal|operator(?:'s|s)?|human)"
        r" (?:review|approval|sign-?off|decision))",
        r"(?i:\b(?:queued|submitted|sent|escalated) (?:to|for) (?:an? |the |our )?(?:operators? for (?:review|approval)"
        r"|(?:internal|human) (?:review|approval))\b)",
        r"(?i:\bdraft (?:no\.? ?|#)?[a-z]*[0-9][\w-]*,? (?:is |was |has been |now )*(?:awaiting|pending|filed|queued|in review)\b)",
        r"(?i:\bdraft (?:is|was|has been) (?:filed|queued)\b|\bapproval (?:card|queue)\b|\bapproval (?:request|id) #[\w-])",
        r"(?i:\b[0-9]+ ?(?:/|of) ?[0-9]+ (?:unit |integration )?(?:tests?|checks?|specs?) (?:have )?(?:passed|failed)\b)",
        r"(?i:\btests? (?:suite )?(?:passed|failed)[: ]+[0-9]+(?: ?/ ?[0-9]+)?|\b[0-9]+ (?:passed, [0-9]+ (?:failed|skipped|errors?)|failed, [0-9]+ passed)\b)",
        r"(?i:\b(?:ci|pipeline|build) #?[0-9]+ (?:is |has )?(?:green|red|passed|failed|failing))",
        r"(?i:(?:отправлен[оа]?|передан[оа]?) (?:на (?:согласование|утверждение|одобрение) оператор"
        r"|оператору на (?:согласование|утверждение|одобрение))|(?:ожидает|ждёт|ждет) (?:проверки|одобрения|утверждения) оператор)",
        r"(?i:черновик\W{1,3}[\w-]*[0-9][\w-]* (?:ожидает|ждёт|ждет|отправлен|подан))",
        r"(?i:(?:тестов пройдено|тесты пройдены|пройдено тестов)[: ]+[0-9]+)",
        r"(?i:pendiente de (?:la )?(?:revisión|aprobación) (?:del operador|de un operador|interna|humana)"
        r"|enviad[oa] (?:al|a un) operador para (?:su )?(?:revisión|aprobación)"
        r"|borrador\W{1,3}[\w-]*[0-9][\w-]* (?:está )?(?:pendiente|en espera|enviado))",
        r"(?i:\b[0-9]+ ?(?:/|de) ?[0-9]+ pruebas (?:superadas|pasadas|fallidas))",
        r"(?i:(?:изпратен[оа]?|подаден[оа]?) (?:на оператор )?за (?:одобрение|преглед) (?:от|на) оператор"
        r"|чака (?:преглед|одобрение) (?:от|на) оператор|чернова\W{1,3}[\w-]*[0-9][\w-]* (?:чака|е подадена|е изпратена))",
        r"(?i:(?:преминали|минали) тестове[: ]+[0-9]+)",
        r"(?i:zur (?:internen (?:freigabe|prüfung)|freigabe) (?:eingereicht|vorgelegt|weitergeleitet)"
        r"|wartet auf (?:die )?(?:interne (?:freigabe|prüfung)|(?:freigabe|prüfung) (?:durch|von|des|eines) (?:\pL+ )?(?:operator|bediener))"
        r"|entwurf\W{1,3}[\w-]*[0-9][\w-]* (?:wartet|liegt zur|eingereicht))",
        r"(?i:\b[0-9]+ ?(?:/|von) ?[0-9]+ tests? bestanden|tests? bestanden[: ]+[0-9]+)",
    ),
}


class Disclosures:
    """The package's shapes and what the policy adds, ready to be looked for."""

    def __init__(self, added: Disclosure) -> None:
        """Args: added: by the policy."""
        patterns = (*map(_host, added.hosts), *(f"(?i:{pattern})" for pattern in added.patterns))
        wanted = {code: Wanted(patterns=shapes) for code, shapes in PATTERNS.items()}
        self._search = Search({**wanted, Disclosed.LISTED: Wanted(words=added.words, patterns=patterns)})

    def found(self, text: str) -> frozenset[Disclosed]:
        """What a text gives away; never the words themselves."""
        return self._search.found(text)


def _host(name: str) -> str:
    """A name of a host; with a dot or a star before it, all names below."""
    below = name.removeprefix("*")
    if below.startswith("."):
        return rf"(?i:[a-z0-9-]{literal(below)}(?:$|[^\w-]))"
    return rf"(?i:(?:^|[^\w.-]){literal(below)}(?:$|[^\w-]))"
