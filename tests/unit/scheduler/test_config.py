from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduler import config, configfile
from scheduler.plugins import registry


def parse(**fields: Any) -> config.Settings:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return config.parse(head | fields)


def names(profile: Any) -> tuple[list[str], dict[str, int]]:
    return [f.name for f in profile.filters], {s.name: weight for s, weight in profile.scores}


def test_without_a_word_all_plugins_are_on_with_upstreams_weights() -> None:
    settings = config.default()
    filters, scores = names(settings.profiles[0])
    assert settings.profiles[0].scheduler_name == "default-scheduler"
    assert {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts"} <= set(filters)
    assert scores["TaintToleration"] == 3
    assert scores["NodeAffinity"] == 2
    assert scores["NodeResourcesFit"] == scores["NodeResourcesBalancedAllocation"] == scores["ImageLocality"] == 1


def test_every_plugin_is_in_the_documentation() -> None:
    page = (Path(__file__).parents[3] / "docs" / "scheduler.md").read_text()
    assert [entry.name for entry in registry.PLUGINS if f"| `{entry.name}` |" not in page] == []


def test_profiles_choose_and_weigh_their_plugins() -> None:
    plugins = {
        "filter": {"disabled": [{"name": "NodePorts"}]},
        "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality", "weight": 7}]},
    }
    settings = parse(profiles=[{"schedulerName": "mine", "plugins": plugins}, {"schedulerName": "other"}])
    filters, scores = names(settings.profiles[0])
    assert "NodePorts" not in filters
    assert "NodeName" in filters
    assert scores == {"ImageLocality": 7}
    assert "NodePorts" in names(settings.profiles[1])[0]


def test_multipoint_reaches_filters_and_scores() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "TaintToleration"}], "enabled": [{"name": "NodeAffinity", "weight": 9}]}
    }
    filters, scores = names(parse(profiles=[{"plugins": plugins}]).profiles[0])
    assert "TaintToleration" not in filters
    assert "TaintToleration" not in scores
    assert scores["NodeAffinity"] == 9


def test_back_off_leader_election_and_percentage_are_read() -> None:
    settings = parse(
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=30,
        leaderElection={"leaderElect": False},
        percentageOfNodesToScore=30,
    )
    assert (settings.initial_backoff_seconds, settings.max_backoff_seconds) == (2, 30)
    assert settings.leader_elect is False
    assert settings.profiles[0].percentage_of_nodes == 30


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "Pod"}, "kind must be"),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: must be from 0 to 100"),
        ({"podMaxBackoffSeconds": "soon"}, "podMaxBackoffSeconds: must be a number"),
        ({"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "schedulerName is used twice"),
        ({"profiles": [{"plugins": {"score": {"enabled": [{"name": "Typo"}]}}}]}, 'plugin "Typo" does not exist'),
    ],
)
def test_what_is_wrong_is_said_with_the_field(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(config.ConfigError, match=words):
        parse(**fields)


def test_an_upstream_plugin_that_is_not_here_is_a_warning() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "VolumeBinding"}]}}
    assert parse(profiles=[{"plugins": plugins}]).warnings == ("plugin VolumeBinding cannot be configured here",)


def test_a_file_is_read_and_one_that_is_none_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    assert names(configfile.load(path).profiles[0]) == names(config.default().profiles[0])
    with pytest.raises(config.ConfigError, match="No such file"):
        configfile.load(tmp_path / "none.yaml")
