"""The rules that Kubernetes' documentation shows, each against objects that keep it and objects that break it."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.apiextensions import rules

_INT, _STRING, _BOOL = {"type": "integer"}, {"type": "string", "maxLength": 64}, {"type": "boolean"}
_TIME, _SPAN = {"type": "string", "format": "date-time"}, {"type": "string", "format": "duration"}
_STRINGS = {"type": "array", "maxItems": 10, "items": _STRING}
_INTS = {"type": "array", "maxItems": 10, "items": _INT}
_SET = {**_STRINGS, "x-kubernetes-list-type": "set"}
_MAP = {"type": "object", "maxProperties": 10, "additionalProperties": _STRING}
_WIDGET = {"type": "object", "properties": {"key": _STRING, "foo": _INT}, "required": ["key"]}
_WIDGETS = {"type": "array", "maxItems": 10, "items": _WIDGET}
_BY_KEY = {**_WIDGETS, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"]}


def _schema(rule: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}


# rule, the properties it reads, an object that keeps it, one that breaks it
KEPT_AND_BROKEN = [
    (
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
        {"minReplicas": _INT, "replicas": _INT, "maxReplicas": _INT},
        {"minReplicas": 1, "replicas": 2, "maxReplicas": 2},
        {"minReplicas": 1, "replicas": 3, "maxReplicas": 2},
    ),
    (
        "'Available' in self.stateCounts",
        {"stateCounts": _MAP},
        {"stateCounts": {"Available": "1"}},
        {"stateCounts": {}},
    ),
    (
        "(self.list1.size() == 0) != (self.list2.size() == 0)",
        {"list1": _STRINGS, "list2": _STRINGS},
        {"list1": [], "list2": ["a"]},
        {"list1": [], "list2": []},
    ),
    (
        "self.envars.filter(e, e.name == 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))",
        {
            "envars": {
                "type": "array",
                "maxItems": 5,
                "items": {"type": "object", "properties": {"name": _STRING, "value": _STRING}},
            }
        },
        {"envars": [{"name": "MY_ENV", "value": "abc"}, {"name": "X", "value": "1"}]},
        {"envars": [{"name": "MY_ENV", "value": "a1"}]},
    ),
    (
        "has(self.expired) && self.created + self.ttl < self.expired",
        {"expired": _TIME, "created": _TIME, "ttl": _SPAN},
        {"created": "2024-01-01T00:00:00Z", "ttl": "1h", "expired": "2024-01-01T02:00:00Z"},
        {"created": "2024-01-01T00:00:00Z", "ttl": "3h", "expired": "2024-01-01T02:00:00Z"},
    ),
    ("self.health.startsWith('ok')", {"health": _STRING}, {"health": "ok, well"}, {"health": "bad"}),
    (
        "self.widgets.exists(w, w.key == 'x' && w.foo < 10)",
        {"widgets": _BY_KEY},
        {"widgets": [{"key": "x", "foo": 1}]},
        {"widgets": [{"key": "x", "foo": 10}]},
    ),
    (
        "type(self.limit) == string ? self.limit == '100%' : self.limit == 1000",
        {"limit": {"x-kubernetes-int-or-string": True}},
        {"limit": "100%"},
        {"limit": 999},
    ),
    (
        "self.metadata.name.startsWith(self.prefix)",
        {"prefix": _STRING},
        {"metadata": {"name": "web-1"}, "prefix": "web"},
        {"metadata": {"name": "db-1"}, "prefix": "web"},
    ),
    (
        "self.set1.all(e, !(e in self.set2))",
        {"set1": _SET, "set2": _SET},
        {"set1": ["a"], "set2": ["b"]},
        {"set1": ["a", "b"], "set2": ["b"]},
    ),
    (
        "size(self.names) == size(self.details) && self.names.all(n, n in self.details)",
        {"names": _SET, "details": _MAP},
        {"names": ["a"], "details": {"a": "1"}},
        {"names": ["a"], "details": {"b": "1"}},
    ),
    (
        "self.details.all(key, key.matches('^[a-zA-Z]*$'))",
        {"details": _MAP},
        {"details": {"ab": ""}},
        {"details": {"a1": ""}},
    ),
    (
        "self.details.all(key, self.details[key].matches('^[a-zA-Z]*$'))",
        {"details": _MAP},
        {"details": {"a1": "ab"}},
        {"details": {"a": "1"}},
    ),
    (
        "size(self.clusters.filter(c, c.name == self.primary)) == 1",
        {
            "primary": _STRING,
            "clusters": {"type": "array", "maxItems": 5, "items": {"type": "object", "properties": {"name": _STRING}}},
        },
        {"primary": "a", "clusters": [{"name": "a"}, {"name": "b"}]},
        {"primary": "c", "clusters": [{"name": "a"}]},
    ),
    ("self.metadata.name == 'singleton'", {}, {"metadata": {"name": "singleton"}}, {"metadata": {"name": "other"}}),
    (
        "!('MY_KEY' in self.map1) || self.map1['MY_KEY'].matches('^[a-zA-Z]*$')",
        {"map1": _MAP},
        {"map1": {}},
        {"map1": {"MY_KEY": "1"}},
    ),
    ("self.__namespace__ == 'a'", {"namespace": _STRING}, {"namespace": "a"}, {"namespace": "b"}),
    ("self.x__dash__prop > 0", {"x-prop": _INT}, {"x-prop": 1}, {"x-prop": 0}),
    ("self.redact__underscores__d > 0", {"redact__d": _INT}, {"redact__d": 1}, {"redact__d": 0}),
    ("self.a__dot__b__slash__c", {"a.b/c": _BOOL}, {"a.b/c": True}, {"a.b/c": False}),
    ("self.string.startsWith('kube')", {"string": _STRING}, {"string": "kubelet"}, {"string": "let"}),
    ("self.values.all(value, value >= 0 && value < 100)", {"values": _INTS}, {"values": [0, 99]}, {"values": [100]}),
    (
        "self.components['Widget'] < 10",
        {"components": {"type": "object", "maxProperties": 3, "additionalProperties": _INT}},
        {"components": {"Widget": 1}},
        {"components": {"Widget": 10}},
    ),
    ("has(self.foo) || has(self.bar)", {"foo": _INT, "bar": _INT}, {"bar": 1}, {}),
    ("!has(self.foo) || self.foo > 0", {"foo": {**_INT, "nullable": True}}, {"foo": None}, {"foo": 0}),
    (
        "self.foo == self.bar",
        {"foo": _SET, "bar": _SET},
        {"foo": ["a", "b"], "bar": ["b", "a"]},
        {"foo": ["a"], "bar": ["b"]},
    ),
    (
        "self.foo + self.bar == ['a', 'b']",
        {"foo": _SET, "bar": _SET},
        {"foo": ["a"], "bar": ["a", "b"]},
        {"foo": ["a"], "bar": ["c"]},
    ),
    (
        "(self.a + self.b).size() == 2",
        {"a": _BY_KEY, "b": _BY_KEY},
        {"a": [{"key": "x"}], "b": [{"key": "x", "foo": 1}, {"key": "y"}]},
        {"a": [{"key": "x"}], "b": []},
    ),
    ("self.ratio > 0.5", {"ratio": {"type": "number"}}, {"ratio": 1}, {"ratio": 0.25}),
    ("self.count / 2 == 1", {"count": _INT}, {"count": 3}, {"count": 4}),
    ("self.blob == b'hi'", {"blob": {"type": "string", "format": "byte"}}, {"blob": "aGk="}, {"blob": "aGV5"}),
    (
        "self.day.getMonth() == 1",
        {"day": {"type": "string", "format": "date"}},
        {"day": "2024-02-29"},
        {"day": "2024-03-01"},
    ),
    ("self.ttl.getHours() >= 1", {"ttl": _SPAN}, {"ttl": "61m"}, {"ttl": "59m"}),
    # lists
    ("self.names.isSorted()", {"names": _STRINGS}, {"names": ["a", "b"]}, {"names": ["b", "a"]}),
    (
        "self.items.map(i, i.price).sum() == 3",
        {"items": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"price": _INT}}}},
        {"items": [{"price": 1}, {"price": 2}]},
        {"items": []},
    ),
    ("self.items.min() >= 2 && self.items.max() <= 5", {"items": _INTS}, {"items": [2, 5]}, {"items": [1, 5]}),
    (
        "self.stats.indexOf('b') == 1 && self.stats.lastIndexOf('b') == 2",
        {"stats": _STRINGS},
        {"stats": ["a", "b", "b"]},
        {"stats": ["b"]},
    ),
    ("self.v.map(x, x > 1, x * 2) == [4, 6]", {"v": _INTS}, {"v": [1, 2, 3]}, {"v": [2]}),
    ("self.v.exists_one(x, x == 1)", {"v": _INTS}, {"v": [1, 2]}, {"v": [1, 1]}),
    # regular expressions
    ("self.text.find('[0-9]+') == '123'", {"text": _STRING}, {"text": "abc 123"}, {"text": "abc"}),
    ("self.text.findAll('[0-9]+') == ['1', '22']", {"text": _STRING}, {"text": "1 b 22"}, {"text": "1"}),
    ("self.text.findAll('[0-9]+', 1).size() == 1", {"text": _STRING}, {"text": "1 b 22"}, {"text": "x"}),
    # URLs
    (
        "isURL(self.u) && url(self.u).getHostname() == 'example.com'",
        {"u": _STRING},
        {"u": "https://example.com:80/a?k=v"},
        {"u": "../relative"},
    ),
    (
        "url(self.u).getPort() == '80' && url(self.u).getEscapedPath() == '/with%20space'",
        {"u": _STRING},
        {"u": "https://e.com:80/with%20space"},
        {"u": "https://e.com/"},
    ),
    (
        "url(self.u).getQuery()['k1'] == ['a', 'b']",
        {"u": _STRING},
        {"u": "https://e.com/?k1=a&k1=b"},
        {"u": "https://e.com/?k1=a"},
    ),
    (
        "url(self.u).getHost() == '[::1]:80' && url(self.u).getHostname() == '::1'",
        {"u": _STRING},
        {"u": "https://[::1]:80/"},
        {"u": "https://x/"},
    ),
    ("url(self.u).getScheme() == ''", {"u": _STRING}, {"u": "/path"}, {"u": "https://x/"}),
    # addresses
    ("isIP(self.a) && ip(self.a).family() == 4", {"a": _STRING}, {"a": "10.0.0.1"}, {"a": "::1"}),
    ("ip.isCanonical(self.a)", {"a": _STRING}, {"a": "2001:db8::abcd"}, {"a": "2001:DB8::ABCD"}),
    ("cidr('192.168.0.0/24').containsIP(self.a)", {"a": _STRING}, {"a": "192.168.0.1"}, {"a": "192.168.1.1"}),
    (
        "cidr('192.168.0.0/16').containsCIDR(cidr(self.a))",
        {"a": _STRING},
        {"a": "192.168.10.0/24"},
        {"a": "192.0.0.0/8"},
    ),
    (
        "cidr(self.a).masked() == cidr(self.a) && cidr(self.a).prefixLength() == 24",
        {"a": _STRING},
        {"a": "10.0.0.0/24"},
        {"a": "10.0.0.1/24"},
    ),
    ("ip(self.a).isLoopback() || ip(self.a).isUnspecified()", {"a": _STRING}, {"a": "127.0.0.1"}, {"a": "8.8.8.8"}),
    ("string(cidr(self.a).ip()) == '10.0.0.1'", {"a": _STRING}, {"a": "10.0.0.1/8"}, {"a": "10.0.0.2/8"}),
    # quantities
    (
        "isQuantity(self.q) && quantity(self.q).isGreaterThan(quantity('1Gi'))",
        {"q": _STRING},
        {"q": "1.5Gi"},
        {"q": "200M"},
    ),
    ("quantity(self.q).asInteger() == 50000000", {"q": _STRING}, {"q": "50M"}, {"q": "50k"}),
    (
        "quantity(self.q).add(quantity('20k')).sub(20000).compareTo(quantity('50k')) == 0",
        {"q": _STRING},
        {"q": "50k"},
        {"q": "51k"},
    ),
    (
        "quantity(self.q).isInteger() && quantity(self.q).sign() == -1",
        {"q": _STRING},
        {"q": "-42"},
        {"q": "9999999999999999999999999999999999999G"},
    ),
    # versions, formats, sets
    (
        "isSemver(self.v) && semver(self.v).isLessThan(semver('1.0.0'))",
        {"v": _STRING},
        {"v": "1.0.0-beta.1"},
        {"v": "1.0.1"},
    ),
    ("semver(self.v, true).compareTo(semver('1.0.0')) == 0", {"v": _STRING}, {"v": "v1.0"}, {"v": "v1.1"}),
    ("!format.dns1123Label().validate(self.n).hasValue()", {"n": _STRING}, {"n": "my-label"}, {"n": "My_Label"}),
    (
        "!format.named('uuid').value().validate(self.n).hasValue()",
        {"n": _STRING},
        {"n": "123e4567-e89b-12d3-a456-426614174000"},
        {"n": "x"},
    ),
    (
        "sets.contains(self.l, ['a']) && sets.equivalent(self.l, ['a', 'b'])",
        {"l": _STRINGS},
        {"l": ["b", "a", "a"]},
        {"l": ["a"]},
    ),
    ("sets.intersects(self.l, ['a', 'z'])", {"l": _STRINGS}, {"l": ["a"]}, {"l": ["b"]}),
    # strings
    ("self.s.lowerAscii().charAt(1) == 'b'", {"s": _STRING}, {"s": "ABC"}, {"s": "AXC"}),
    (
        "self.s.split(',').size() == 2 && self.l.join('+') == 'a+b'",
        {"s": _STRING, "l": _STRINGS},
        {"s": "a,b", "l": ["a", "b"]},
        {"s": "a", "l": []},
    ),
    ("self.s.trim().replace('a', 'o').substring(1, 3) == 'oo'", {"s": _STRING}, {"s": " baa "}, {"s": "bbb"}),
    ("self.s.indexOf('l') == 2 && self.s.lastIndexOf('l') == 3", {"s": _STRING}, {"s": "hello"}, {"s": "halo"}),
    # optional values and macros of two variables
    ("self.?name.orValue('x') == 'x'", {"name": _STRING}, {}, {"name": "y"}),
    ("self.m[?'a'].optMap(v, v.size()).orValue(0) == 2", {"m": _MAP}, {"m": {"a": "ok"}}, {"m": {}}),
    ("self.m.all(k, v, k == v)", {"m": _MAP}, {"m": {"a": "a"}}, {"m": {"a": "b"}}),
    ("self.v.transformList(i, x, i * x) == [0, 2]", {"v": _INTS}, {"v": [5, 2]}, {"v": [5, 3]}),
    ("self.m.transformMap(k, v, v + '!')['a'] == 'x!'", {"m": _MAP}, {"m": {"a": "x"}}, {"m": {"a": "y"}}),
]


@pytest.mark.parametrize(
    ("rule", "properties", "kept", "broken"), KEPT_AND_BROKEN, ids=[row[0] for row in KEPT_AND_BROKEN]
)
def test_a_documented_rule_keeps_what_it_should_and_refuses_what_it_should(
    rule: str, properties: dict[str, Any], kept: dict[str, Any], broken: dict[str, Any]
) -> None:
    schema = _schema({"rule": rule, "message": "broken"}, **properties)
    assert rules.problems(schema, "schema") == []
    checked = rules.Rules(schema)
    assert checked.check(kept, None) == []
    assert checked.check(broken, None) != []


def test_the_table_is_of_at_least_sixty_rules() -> None:
    assert len(KEPT_AND_BROKEN) >= 60


# rule, the properties it reads, the old object, a new one that keeps it, one that breaks it
TRANSITIONS = [
    ("self.foo == oldSelf.foo", {"foo": _INT}, {"foo": 1}, {"foo": 1}, {"foo": 2}),
    ("oldSelf.foo != 'bar' || self.foo == 'bar'", {"foo": _STRING}, {"foo": "bar"}, {"foo": "bar"}, {"foo": "x"}),
    ("!has(oldSelf.field) || has(self.field)", {"field": _INT}, {"field": 1}, {"field": 2}, {}),
    ("self.l.all(e, e in oldSelf.l)", {"l": _SET}, {"l": ["a", "b"]}, {"l": ["a"]}, {"l": ["c"]}),
    ("oldSelf.s != 'X' || self.s in ['A', 'B']", {"s": _STRING}, {"s": "X"}, {"s": "A"}, {"s": "Y"}),
    ("self.n >= oldSelf.n", {"n": _INT}, {"n": 5}, {"n": 6}, {"n": 4}),
]


@pytest.mark.parametrize(
    ("rule", "properties", "old", "kept", "broken"), TRANSITIONS, ids=[row[0] for row in TRANSITIONS]
)
def test_a_transition_rule_compares_with_what_was(
    rule: str, properties: dict[str, Any], old: dict[str, Any], kept: dict[str, Any], broken: dict[str, Any]
) -> None:
    schema = _schema({"rule": rule}, **properties)
    assert rules.problems(schema, "schema") == []
    checked = rules.Rules(schema)
    assert checked.check(broken, None) == []
    assert checked.check(kept, old) == []
    (cause,) = checked.check(broken, old)
    assert cause.message == f'Invalid value: "object": failed rule: {rule}'
