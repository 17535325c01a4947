"""Delivers one row for each of 40,000 entities: once with 1,000 hosts that all entities share, and once with a host of its own
for each entity. The baseline delivers 40,000 rows, too, but for 1,000 entities, each with a host of its own."""
from __future__ import annotations

import statistics

from bench.beside import in_turn
from bench.crowds.crowd import Crowd
from bench.crowds.figures import Figure
from bench.crowds.stage import Stage, scaled
from bench.receiver import Receiver
from bench.report import progress
from bench.service import webhook_url
from bench.throughput import PATIENCE, deliver_backlog, send_bare

ENTITIES, FEW = 40_000, 1_000
PAIRS = 3  # how often a round measures `few` and `shared`: one measurement lasts only seconds, so its result varies much


class Case(Crowd):
    SETTINGS = PATIENCE

    def measure(self) -> list[Figure]:
        stage, options = self.stage, self.stage.options
        many, few = scaled(ENTITIES, options), scaled(FEW, options)
        progress(f"registering {2 * many:,} webhooks")
        receiver = stage.enter(Receiver(*stage.pair))  # without a log
        distinct = stage.enroll(many, receiver.port)
        shared = stage.service.enroll([[webhook_url(1 + number % few, receiver.port)] for number in range(many)])
        arms = {"few": distinct[:few], "shared": shared, "distinct": distinct}
        found = {arm: [] for arm in [*arms, "bare few", "bare distinct"]}
        for number in range(options.rounds):
            for arm, hosts in (("bare few", few), ("bare distinct", many)):
                found[arm].append(send_bare(arm, many, hosts, stage.service, receiver))
            pairs = [arm for pair in range(PAIRS) for arm in in_turn(("few", "shared"), number + pair)]
            for arm in [*pairs, "distinct"]:
                found[arm].append(deliver_backlog(arm, many, arms[arm], stage.service, receiver, options.record_timeout))
                progress(f"{arm}: {found[arm][-1]['rate/s']:,.0f}/s")
        rates, connections = ({arm: [row[column] for row in rows] for arm, rows in found.items()}
                              for column in ("rate/s", "connections"))
        return figures(rates, connections, many, few)


def figures(rates: dict[str, list[float]], connections: dict[str, list[int]], many: int, few: int) -> list[Figure]:
    """Each further host needs a connection, which costs more than a delivery. So with more hosts both the service and the bare
    loop (the libcurl program of bench/control.cpp, which sends equal requests without the service) are slower. The service's
    loss of speed is therefore compared with that of the bare loop."""
    rate = {arm: statistics.median(found) for arm, found in rates.items()}
    base = tuple(rates["few"])
    made = tuple(connections["few"])
    return [
        Figure(f"rows/s, {many:,} entities at {few:,} hosts", rate["shared"], base),
        Figure(f"of the rate of {few:,} entities, at the same hosts", rate["shared"] / rate["few"], goal=("at least", 0.9)),
        Figure("connections made, at the same hosts", statistics.median(connections["shared"]), made),
        Figure(f"rows/s, {many:,} entities at {many:,} hosts", rate["distinct"], base),
        Figure(f"of the rate of {few:,} entities, at a host each", rate["distinct"] / rate["few"]),
        Figure(f"bare loop/s, {many:,} hosts (baseline: {few:,})", rate["bare distinct"], tuple(rates["bare few"])),
        Figure("of the bare loop's rate, at a host each", rate["distinct"] / rate["bare distinct"]),
        Figure("of the bare loop's own share, at a host each",
               rate["distinct"] / rate["few"] / (rate["bare distinct"] / rate["bare few"]), goal=("at least", 0.9)),
    ]
