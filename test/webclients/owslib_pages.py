"""Walks all pages of each collection with OWSLib, and prints what it found as JSON.

usage: owslib_pages.py SERVER
"""

import json
import sys
from urllib.parse import parse_qsl, urlsplit

from owslib.ogcapi.features import Features

server = Features(sys.argv[1])
found = {
    "conformance": server.conformance()["conformsTo"],
    "paths": sorted(server.api()["paths"]),
    "collections": {},
}
for name in server.feature_collections():
    about = server.collection(name)
    ids, pages, matched = [], 0, set()
    page = server.collection_items(name, limit=700)
    while True:
        pages += 1
        matched.add(page["numberMatched"])
        ids += [f["id"] for f in page["features"]]
        # OWSLib does not follow links, but passes parameters on.
        after = [l["href"] for l in page["links"] if l["rel"] == "next"]
        if not after:
            break
        page = server.collection_items(name, **dict(parse_qsl(urlsplit(after[0]).query)))
    west, south, east, north = about["extent"]["spatial"]["bbox"][0]
    middle = [west, south, (west + east) / 2, (south + north) / 2]
    within = server.collection_items(name, bbox=middle, limit=10000)
    found["collections"][name] = {
        "ids": ids,
        "pages": pages,
        "matched": sorted(matched),
        "queryables": sorted(server.collection_queryables(name)["properties"]),
        "bbox": middle,
        "within": sorted(f["id"] for f in within["features"]),
    }
json.dump(found, sys.stdout)
