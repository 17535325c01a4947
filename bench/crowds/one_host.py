"""A provider hosts the receivers of many entities: how many connections does its host get when each gets a notification?"""
from __future__ import annotations

from bench.crowds.figures import Figure, all_of
from bench.crowds.stage import Stage, scaled
from bench.receiver import Watch
from bench.slow import slow_receiver

WEBHOOKS = 2_000
SECONDS = 0.2  # from a request to its answer: without this delay, a few connections would do
LIMIT = "50"  # for an older release, which has no delivery.max_in_flight_per_host


def run(options):
    with Stage(options, log=False) as stage, slow_receiver(*stage.pair, SECONDS) as provider:
        service, count = stage.service, scaled(WEBHOOKS, options)
        entities = service.enroll([[f"https://proveedor.receptor.test:{provider.port}/{number}"] for number in range(count)])
        service.write(count, entities)
        with Watch(provider) as watch:
            service.start_dispatcher()
            watch.await_arrivals(count, options.record_timeout)
            service.wait_recorded(options.record_timeout)
        seconds = watch.last_at - watch.first_at
        delivered = stage.delivered(entities)
        limit = int(service.setting("delivery.max_in_flight_per_host", LIMIT))
        service.kill_dispatcher()
    return [Figure("connections at once", watch.most_open, goal=("at most", limit)),
            Figure("connections made in all", watch.connections),
            Figure("seconds from the first request to the last", seconds),
            all_of("rows delivered", delivered, count)], stage.facts
