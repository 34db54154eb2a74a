"""API keys and tokens: the formats of common providers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection

from processors.builtin.any_of import AnyOf, Format, any_case
from processors.errors import DeclarationError
from processors.patterns.redactor import Redactor, Rule

_NAME_END = r"[\"']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}[\"']?"
_WEB = "[A-Za-z0-9_-]"
_SCANNING = "GitHub's documentation of secret scanning patterns"

#: No format has an end of its own: a key that is longer than expected is a key to its last character.
FORMATS: tuple[Format, ...] = (
    Format(
        "AWS_ACCESS_KEY_ID",
        "(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|APKA|AROA|ASCA)[A-Z0-9]{16,}",
        "AWS IAM user guide, unique identifiers",
    ),
    Format(
        "AWS_SECRET_KEY",
        f"(?:{any_case('aws')}[_.-]?)?{any_case('secret')}[_.-]?(?:{any_case('access')}[_.-]?)?{any_case('key')}"
        f"{_NAME_END}([A-Za-z0-9/+]{{40,}})",
        "AWS IAM user guide, access keys: 40 characters of base64, known by their name only",
    ),
    Format("GCP_API_KEY", f"AIza{_WEB}{{35,}}", "Google Cloud documentation, API keys"),
    Format("GOOGLE_OAUTH", f"GOCSPX-{_WEB}{{20,}}", "Google Identity documentation, client secrets"),
    Format("GOOGLE_OAUTH", "ya29\\.[A-Za-z0-9_.-]{20,}", "Google Identity documentation, access tokens"),
    Format("GOOGLE_OAUTH", f"1//0{_WEB}{{30,}}", "Google Identity documentation, refresh tokens"),
    Format("GITHUB_TOKEN", "gh[oprsu]_[A-Za-z0-9]{36,}", "GitHub documentation, token formats"),
    Format("GITHUB_TOKEN", "github_pat_[A-Za-z0-9_]{22,}", "GitHub documentation, fine-grained tokens"),
    Format(
        "GITLAB_TOKEN",
        f"(?:gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rt|soat)-|GR1348941){_WEB}{{20,}}",
        "GitLab documentation, token prefixes",
    ),
    Format("SLACK_TOKEN", "xox[abceoprs]-[A-Za-z0-9-]{10,}", "Slack documentation, token types"),
    Format("SLACK_TOKEN", "xapp-[0-9]-[A-Za-z0-9-]{10,}", "Slack documentation, app-level tokens"),
    Format(
        "SLACK_WEBHOOK",
        "https://hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/-]{20,}",
        "Slack documentation, incoming webhooks",
    ),
    Format("STRIPE_KEY", "[rs]k_(?:live|test)_[A-Za-z0-9]{10,}", "Stripe documentation, API keys"),
    Format("STRIPE_KEY", "whsec_[A-Za-z0-9+/]{24,}", "Stripe documentation, webhook signatures"),
    Format("ANTHROPIC_KEY", f"sk-ant-{_WEB}{{20,}}", "Anthropic documentation, API keys"),
    Format("OPENROUTER_KEY", "sk-or-v1-[0-9a-f]{32,}", "OpenRouter documentation, authentication"),
    Format("OPENAI_KEY", f"sk-(?:admin|None|proj|svcacct|service)-{_WEB}{{20,}}", "OpenAI documentation, project keys"),
    Format("OPENAI_KEY", "sk-[A-Za-z0-9]{32,}", "OpenAI documentation, API keys; others use the same form"),
    Format("HUGGINGFACE_TOKEN", "(?:hf|api_org)_[A-Za-z0-9]{30,}", "Hugging Face documentation, access tokens"),
    Format("GROQ_KEY", "gsk_[A-Za-z0-9]{40,}", _SCANNING),
    Format("XAI_KEY", "xai-[A-Za-z0-9]{40,}", _SCANNING),
    Format("REPLICATE_TOKEN", "r8_[A-Za-z0-9]{37,}", _SCANNING),
    Format("NPM_TOKEN", "npm_[A-Za-z0-9]{36,}", "npm documentation, access tokens"),
    Format("PYPI_TOKEN", f"pypi-AgE{_WEB}{{50,}}", "PyPI help, API tokens"),
    Format("DOCKER_TOKEN", f"dckr_(?:pat|oat)_{_WEB}{{20,}}", _SCANNING),
    Format("SENDGRID_KEY", f"SG\\.{_WEB}{{16,}}\\.{_WEB}{{16,}}", "SendGrid documentation, API keys"),
    Format("MAILGUN_KEY", "key-[0-9a-f]{32,}", _SCANNING),
    Format("TWILIO_KEY", "(?:AC|SK)[0-9a-f]{32,}", "Twilio documentation, SIDs"),
    Format("TELEGRAM_TOKEN", f"[0-9]{{8,10}}:AA{_WEB}{{32,}}", "Telegram documentation, bots"),
    Format("DISCORD_TOKEN", f"[MNO]{_WEB}{{23,27}}\\.{_WEB}{{6}}\\.{_WEB}{{27,}}", "Discord documentation, bots"),
    Format(
        "AZURE_KEY",
        f"(?:{any_case('accountkey')}|{any_case('sharedaccesskey')})=([A-Za-z0-9+/]{{40,}}={{0,2}})",
        "Azure documentation, connection strings",
    ),
    Format("AZURE_CLIENT_SECRET", "[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}", _SCANNING),
    Format("DIGITALOCEAN_TOKEN", "do[opr]_v1_[0-9a-f]{64,}", _SCANNING),
    Format("SHOPIFY_TOKEN", "shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}", _SCANNING),
    Format("DATABRICKS_TOKEN", "dapi[0-9a-f]{32,}", _SCANNING),
    Format("VAULT_TOKEN", f"hv[brs]\\.{_WEB}{{24,}}", "HashiCorp Vault documentation, tokens"),
    Format("LINEAR_KEY", "lin_(?:api|oauth)_[A-Za-z0-9]{32,}", _SCANNING),
    Format("NOTION_TOKEN", "ntn_[A-Za-z0-9]{40,}", _SCANNING),
    Format("GRAFANA_TOKEN", "gl(?:c|sa)_[A-Za-z0-9+/_]{32,}", _SCANNING),
    Format("POSTMAN_KEY", "PMAK-[0-9a-f]{24}-[0-9a-f]{34,}", _SCANNING),
    Format("ATLASSIAN_TOKEN", "ATATT3[A-Za-z0-9_=-]{60,}", _SCANNING),
    Format("NEW_RELIC_KEY", "NRAK-[A-Z0-9]{27,}", _SCANNING),
    Format("AGE_KEY", "AGE-SECRET-KEY-1[A-Z0-9]{58,}", "age, its own specification"),
)

_LEAST_BITS_PER_CHAR = 3.0
#: So much of what is assigned is looked at.
_READ = 256
_ASSIGNS = re.compile(":=|=>|=|:")
#: A name in a program.
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\Z")
_NAMES = (
    "api[_-]?key",
    "access[_-]?key",
    "auth[_-]?token",
    "access[_-]?token",
    "client[_-]?secret",
    "secret[_-]?key",
    "secret",
    "passwd",
    "password",
    "token",
)


def _is_random(found: str) -> bool:
    """Return whether what is assigned looks like nobody's words: letters and digits, and many different ones."""
    value = _ASSIGNS.split(found, maxsplit=1)[-1].strip(" \t\"'")[:_READ]
    if _ATTRIBUTE.match(value) or not (any(map(str.isalpha, value)) and any(map(str.isdigit, value))):
        return False
    counts = Counter(value).values()
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
    return bits >= _LEAST_BITS_PER_CHAR


def _name(pattern: str) -> str:
    """Return the pattern of a name in any case; brackets in it are left as they are."""
    letters, *rest = pattern.split("[_-]?")
    return "[_-]?".join(any_case(part) for part in (letters, *rest))


ASSIGNED = Format(
    "SECRET",
    f"(?:[A-Za-z0-9]{{1,20}}[_-]){{0,2}}(?:{'|'.join(_name(name) for name in _NAMES)}){_NAME_END}"
    "([A-Za-z0-9+/_~.!@#$%^&*-]{16,}={0,2})",
    "names that programs give to secrets; what is assigned must look random",
    _is_random,
)


def api_keys(
    name: str = "redact-api-keys",
    *,
    providers: Collection[str] | None = None,
    assigned: bool = False,
    label: str | None = None,
    placeholder: str = "[{label}]",
    numbered: bool = False,
) -> Redactor:
    """Return a processor that replaces API keys and tokens of common providers.

    The label is the format's (`GITHUB_TOKEN`) unless `label` is given. `providers` limits it to formats whose label begins
    with one of these (`"AWS"`). `assigned` adds whatever looks random and is assigned to a name such as `api_key` or
    `password`: of such and of keys known by their name only, the name stays.

    Raises:
        DeclarationError: no format begins with one of `providers`.
    """
    formats = list(FORMATS)
    if providers is not None:
        wanted = tuple(provider.upper() for provider in providers)
        formats = [one for one in FORMATS if one.label.startswith(wanted)]
        for provider in wanted:
            if not any(one.label.startswith(provider) for one in FORMATS):
                known = ", ".join(sorted({one.label for one in FORMATS}))
                raise DeclarationError(f"api_keys: no format begins with {provider!r}; there are {known}")
    if assigned:
        formats.append(ASSIGNED)
    if not formats:
        raise DeclarationError("api_keys: there is nothing to look for: name a provider")
    finder = AnyOf(formats, before="[A-Za-z0-9]")
    rule = Rule(label or "API_KEY", finder, named=None if label else finder.label, part=finder.part, same=str)
    return Redactor(name, [rule], placeholder=placeholder, numbered=numbered)
