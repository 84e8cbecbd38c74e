"""The models that can be asked: `data/models.toml` -> `Model`. Keys come from the environment or from `.env`."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from cdct.core import Registry, resolve, unknown

VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
TIERS = ("", "reasoning", "efficient")
OURS = ("model", "messages", "stream", "n")
"""Request fields that no `body` may hold: what is asked, and that one whole answer comes back, is set here."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens. `cached` prices the prompt tokens that the provider had cached (else `input`)."""

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0 <= value < float("inf")):
                raise ValueError(f"{name} must be a number of at least 0, got {value!r}")

    def cost(self, prompt: int, completion: int, cached: int = 0) -> float:
        """US dollars for one call; `prompt` counts the cached tokens too, which are billed once, at their own price."""
        cached = min(cached, prompt)
        reused = self.input if self.cached is None else self.cached
        return ((prompt - cached) * self.input + cached * reused + completion * self.output) / 1e6


@dataclass(frozen=True)
class Model:
    """One model at one or more OpenAI-compatible endpoints, a GGUF file that is served here, or a simulated subject.

    Attributes:
        name: how runs, tables and figures call it.
        base_url: address up to and including `/v1`; several, used evenly, for copies of the same model. The first
            one names the record: with another first one, all is asked again.
        model: the id that the endpoint knows.
        key_env: name of the environment variable that holds the key; None where none is needed.
        gguf: a package that carries a GGUF file, or the path of one; then no base_url is given.
        sha256: digest that the GGUF file must have.
        family, tier, parameters: for grouping: maker's line, "reasoning" or "efficient", billions of parameters.
        concurrency: most open calls at a time per endpoint; None leaves it to `run`.
        requests_per_minute, tokens_per_minute: limits per endpoint, kept by waiting.
        price: US dollars per million tokens; None looks the model up in the price package.
        refuses: request parameters that are never sent to this model.
        body: further request fields, sent as they are (provider routing, reasoning effort).
        timeout_s: longest wait for one answer.
        answer: a simulated subject, in place of base_url or gguf: a function of the request (a chat completion's JSON)
            and the sample's number that returns the text. Its replies are recorded as any other, under the model's
            name: a function that has changed needs another name. They cost nothing, and their tokens are not counted.
    """

    name: str
    base_url: str | tuple[str, ...] = ()
    model: str = ""
    key_env: str | None = None
    gguf: str | None = None
    sha256: str | None = None
    family: str = ""
    tier: str = ""
    parameters: float | None = None
    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    refuses: tuple[str, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float = 600.0
    answer: Callable[[Mapping[str, Any], int], str] | None = None

    def __post_init__(self) -> None:
        urls = (self.base_url,) if isinstance(self.base_url, str) else tuple(self.base_url)
        object.__setattr__(self, "base_url", tuple(url.rstrip("/") for url in urls if url))
        if isinstance(self.refuses, str):
            raise ValueError(f"model {self.name}: refuses must be a list of parameter names, got {self.refuses!r}")
        object.__setattr__(self, "refuses", tuple(self.refuses))
        if isinstance(self.price, Mapping):
            try:
                object.__setattr__(self, "price", Price(**self.price))
            except (TypeError, ValueError) as error:
                raise ValueError(f"model {self.name}: price = {self.price!r}: {error}") from None
        if bool(self.base_url) + bool(self.gguf) + (self.answer is not None) != 1:
            function = "" if self.answer is None else ", and a function that answers"
            raise ValueError(
                f"model {self.name}: give either base_url or gguf, got {self.base_url!r} and {self.gguf!r}{function}"
            )
        if self.key_env is not None and not (isinstance(self.key_env, str) and VARIABLE.fullmatch(self.key_env)):
            # not shown: it may be the key
            raise ValueError(
                f"model {self.name}: key_env must be the name of an environment variable "
                "(letters, digits and _, no digit first), not the key itself"
            )
        if not isinstance(self.body, Mapping):
            raise ValueError(f"model {self.name}: body must be a table of request fields, got {self.body!r}")
        for taken in OURS:
            if taken in self.body:
                raise ValueError(f"model {self.name}: body may not hold {taken!r}, which is set by cdct itself")
        for url in self.base_url:
            if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
                raise ValueError(f"model {self.name}: base_url must be an http(s) address, got {url!r}")
            if urlsplit(url).username or urlsplit(url).password or urlsplit(url).query:
                # not shown, and not to be recorded with every reply
                raise ValueError(f"model {self.name}: base_url holds a user, password or query; use key_env instead")
            if url.endswith("/chat/completions"):
                raise ValueError(f"model {self.name}: base_url must end before /chat/completions, got {url!r}")
        if self.tier not in TIERS:
            raise ValueError(
                f"model {self.name}: tier must be one of {', '.join(TIERS[1:])} or empty, got {self.tier!r}"
            )
        for limit in ("concurrency", "requests_per_minute", "tokens_per_minute", "timeout_s"):
            value = getattr(self, limit)
            kind = int if limit == "concurrency" else int | float
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool) or not value > 0):
                what = "a whole number" if kind is int else "a number"
                raise ValueError(f"model {self.name}: {limit} must be {what} above 0, got {value!r}")
        if not self.model:
            object.__setattr__(self, "model", self.name)

    @property
    def endpoint(self) -> str:
        """What stands for the endpoint in a reply's key: the first address, the GGUF file's digest, simulated:name.

        Copies of one model behind further addresses, and the port of a local server, don't change what was asked; nor
        do capitals in a host's name. Raises what `absent` tells.
        """
        if self.answer is not None:
            return f"simulated:{self.name}"
        if self.base_url:
            first = urlsplit(self.base_url[0])
            return urlunsplit(first._replace(netloc=first.netloc.lower()))  # urlsplit has lowered the scheme
        from cdct.local import gguf_digest

        return f"gguf:{self.sha256 or gguf_digest(self.gguf)}"

    def absent(self) -> str | None:
        """Why nothing of this model can be asked or looked up: its file, which would name its replies, is not there."""
        try:
            return self.endpoint and None
        except (OSError, ImportError) as error:
            return str(error)

    @property
    def is_local(self) -> bool:
        """True where all calls stay on this machine: a GGUF file, a simulated subject, or loopback addresses only."""
        return all(urlsplit(url).hostname in LOOPBACK for url in self.base_url)

    def open_at_most(self, concurrency: int) -> int:
        """How many calls may be open per endpoint, when the run allows `concurrency`."""
        if self.gguf:
            from cdct.local import SLOTS

            return SLOTS
        return self.concurrency or concurrency

    def key(self) -> str | None:
        """The API key, or None where none is needed. Raises LookupError when it should be there and is not."""
        if self.key_env is None:
            return None
        value = (os.environ.get(self.key_env) or _dotenv().get(self.key_env) or "").strip()
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise LookupError(
                f"model {self.name}: the key in {self.key_env} holds a blank, a line end or a letter beyond ASCII, "
                "which no key has; copy it again"
            )
        if not value and not self.is_local:
            raise LookupError(
                f"model {self.name}: no key: set the environment variable {self.key_env}, "
                f"or write {self.key_env}=... to .env"
            )
        return value or None

    def price_of(self, prompt: int, completion: int, cached: int = 0) -> float | None:
        """US dollars for a call of so many tokens; 0 on this machine; None when no price is known."""
        if self.price is not None:
            return self.price.cost(prompt, completion, cached)
        if self.is_local:
            return 0.0
        unit = _listed_price(self.model, self.base_url[0])
        return None if unit is None else unit.cost(prompt, completion, cached)


@cache
def _listed_price(model: str, url: str) -> Price | None:
    """The list price of a model in the price package's snapshot, without any network; None if not listed."""
    from genai_prices import Usage, calc_price

    # a thousand tokens of one kind give the unit price; more would reach the dearer tiers of long prompts
    thousand, reference = 1000, model.split(":")[0]
    try:
        plain = calc_price(
            Usage(input_tokens=thousand, output_tokens=thousand), model_ref=reference, provider_api_url=url
        )
        reused = calc_price(
            Usage(input_tokens=thousand, cache_read_tokens=thousand), model_ref=reference, provider_api_url=url
        )
    except LookupError:
        return None
    return Price(*(float(usd) * thousand for usd in (plain.input_price, plain.output_price, reused.input_price)))


def _dotenv() -> dict[str, str]:
    """The names and values of `.env` in the workbench's folder: NAME=value lines; `export` and quotes are allowed."""
    path = resolve(".env")
    if not path.is_file():
        return {}
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise LookupError(".env: not text in UTF-8; save it again in that encoding") from None
    pairs = {}
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not name.startswith("#"):
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            pairs[name.strip()] = value[1:-1] if quoted else value.split(" #")[0].strip()
    return pairs


def load_models(path: str | os.PathLike[str] = "data/models.toml") -> Mapping[str, Model]:
    """The models of a TOML file by name, in the file's order. Each entry is a table `["name"]` of `Model` fields."""
    file: Path = resolve(path)
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not valid TOML in UTF-8: {error}") from None
    known = [f.name for f in fields(Model) if f.name not in ("name", "answer")]
    models = Registry(f"{path}: model")
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise ValueError(f'{path}: {name!r} must be a table, written ["{name}"], got {entry!r}')
        for key in entry:
            if key not in known:
                raise ValueError(f"{path}: [{name}] {unknown('field', key, known)}")
        for key, value in entry.items():
            if isinstance(value, list):
                entry[key] = tuple(value)
        models.add(name, Model(name=name, **entry))
    return models


def tiers() -> dict[str, str]:
    """The tier of every model in `data/models.toml`: "reasoning", "efficient", or "" where none is given."""
    return {name: model.tier for name, model in load_models().items()}


def pick_models(names: str | Model | Sequence[str | Model]) -> list[Model]:
    """The models of that name or these names; a `Model` stands for itself. An unknown name is an error with a hint."""
    wanted = [names] if isinstance(names, str | Model) else list(names)
    listed = load_models() if any(isinstance(name, str) for name in wanted) else {}
    return [name if isinstance(name, Model) else listed[name] for name in wanted]
