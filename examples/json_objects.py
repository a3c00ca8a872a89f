# SPDX-License-Identifier: MIT
# json_objects.py - reads a day of JSON events and keeps them as Python objects, twice by accident.
import json

EVENTS = 50021


def event_line(number):
    return json.dumps({
        "id": number,
        "user": "user-%05d" % (number * 7919 % 10007),
        "action": ("view", "click", "buy")[number % 3],
        "tags": ["tag-%d" % (number % 101), "tag-%d" % (number % 211)],
        "where": {"city": "city-%d" % (number % 307), "lat": number / 7, "lon": number / 11},
    })


def load_events():
    return [json.loads(event_line(number)) for number in range(EVENTS)]


def index_by_user(events):
    index = {}
    for event in events:
        # A copy through JSON, "to be safe": this is where the second half of the memory goes.
        index.setdefault(event["user"], []).append(json.loads(json.dumps(event)))
    return index


def main():
    events = load_events()
    index = index_by_user(events)
    print("%d events of %d users" % (len(events), len(index)))
    return events, index


KEPT = main()
