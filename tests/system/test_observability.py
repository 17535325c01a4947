"""Compares alert rules, dashboard and documents with the metrics of a running stack."""
import json
import re
import subprocess
from pathlib import Path

import pytest

from support.metrics import observed_dispatcher, scrape
from support.stack import ROOT
from support.wait import wait_until

FOLDER = ROOT / "observability"
SELECTOR = re.compile(r'\b(apientidades_\w+)(?:\{([^}]*)\})?')
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


@pytest.fixture(scope="module")
def live(stack):
    """The metrics of the dispatcher and of the pool."""
    with observed_dispatcher(stack) as dispatcher:
        return {"dispatcher": dispatcher(), "pool": scrape(stack.env["METRICS_URL"])}


def alerts() -> list[str]:
    """The expressions of the rules in alerts.yml."""
    text = (FOLDER / "alerts.yml").read_text()
    return re.findall(r"expr:\s+(?:>-\n)?((?:.+\n)(?:\s{10,}.+\n)*)", text)


def dashboard() -> list[str]:
    panels = json.loads((FOLDER / "grafana-dashboard.json").read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def promtool(*arguments, folder=FOLDER):
    return subprocess.run(["promtool", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_rules_are_well_formed():
    result = promtool("check", "rules", "alerts.yml")
    assert result.returncode == 0 and f"{len(alerts())} rules found" in result.stdout, result


def test_each_alert_fires_when_it_should_and_not_otherwise():
    result = promtool("test", "rules", "alerts.test.yml")
    assert result.returncode == 0, result.stdout + result.stderr
    names = set(re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text()))
    tested = re.findall(r"name: (\w+) (fires|is silent)", (FOLDER / "alerts.test.yml").read_text())
    assert set(tested) == {(name, how) for name in names for how in ("fires", "is silent")}


def test_the_scrape_configuration_is_well_formed(tmp_path):
    text = (FOLDER / "prometheus.yml").read_text()
    config = tmp_path / "prometheus.yml"
    config.write_text(text.replace("/etc/prometheus/apientidades/alerts.yml", str(FOLDER / "alerts.yml")))
    result = promtool("check", "config", str(config))
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_expressions_of_the_dashboard_are_well_formed(tmp_path):
    rules = [{"record": f"panel:{i}", "expr": expr.replace("$__rate_interval", "5m")}
             for i, expr in enumerate(dashboard())]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    result = promtool("check", "rules", "rules.yml", folder=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("expression", alerts() + dashboard())
def test_every_series_that_is_asked_for_exists(live, expression):
    samples = live["dispatcher"].samples + live["pool"].samples
    for name, matchers in SELECTOR.findall(expression):
        assert any(known == name for known, _, _ in samples), f"no metric {name}"
        for label, operator, value in MATCHER.findall(matchers):
            values = {labels.get(label) for known, labels, _ in samples if known == name}
            wanted = value.split("|") if operator == "=~" else [value]
            assert set(wanted) <= values, f"{name}: {label} has only the values {values}"


@pytest.mark.parametrize("program, heading", [("dispatcher", "### Of the dispatcher"), ("pool", "### Of the pool")])
def test_the_table_in_the_documents_is_what_is_served(live, program, heading):
    section = (ROOT / "docs/observability.md").read_text().split(heading + "\n")[1].split("\n#")[0]
    documented = {}
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*)\|", section, re.M):
        documented[name] = (kind, frozenset(label.strip() for label in labels.split(",") if label.strip()))
    served = {n: family for n, family in live[program].families().items() if not n.startswith("exposer_")}
    assert documented == served


def test_every_value_of_a_label_is_documented(live):
    text = (ROOT / "docs/observability.md").read_text()
    for name, labels, _ in live["dispatcher"].samples:
        for label in labels.keys() & {"outcome", "state", "kind", "of", "result", "share"}:
            assert f"`{labels[label]}`" in text, (name, label, labels[label])


def test_every_alert_is_documented():
    text = (ROOT / "docs/observability.md").read_text()
    for name in re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text()):
        assert f"`{name}`" in text


def test_promtool_accepts_what_is_served(live):
    for found in live.values():
        result = subprocess.run(["promtool", "check", "metrics"], input=found.text, capture_output=True, text=True)
        complaints = [line for line in result.stderr.splitlines() if "exposer_" not in line and line.strip()]
        assert complaints == [], complaints


def test_a_request_can_be_followed_by_its_id(stack, entity):
    answer = entity.api("GET", "/apientidades/v1/webhooks?x=unmistakable")
    request = answer.headers["x-request-id"]
    assert re.fullmatch("[0-9a-f]{32}", request)
    log = wait_until(lambda: f"request={request}" in (text := stack.dev("logs", "fcgi").stdout) and text, what="the log to tell of the request")
    line = next(line for line in log.splitlines() if f"request={request}" in line)
    assert f"entity={entity.id}" in line and "route=/webhooks" in line and "status=200" in line
    file = Path(stack.folder, "log", "nginx-access.log")
    access = wait_until(lambda: f'"request_id":"{request}"' in (text := file.read_text()) and text, what="the access log to tell of it")
    assert "unmistakable" not in log + access
