"""Reads each collection by the OAPIF provider of QGIS, without a screen, and prints
its features as lines of GeoJSON: all of them, then those within a box.

usage: qgis_features.py SERVER COLLECTION [WEST SOUTH EAST NORTH]
"""

import json
import sys

from qgis.core import QgsApplication, QgsFeatureRequest, QgsRectangle, QgsVectorLayer

server, name, box = sys.argv[1], sys.argv[2], list(map(float, sys.argv[3:]))

def read():
    """Prints the features. QGIS wants all that is its own to be gone before it ends."""
    layer = QgsVectorLayer(
        f"url='{server}' typename='{name}' pageSize='1000'" + (" restrictToRequestBBOX='1'" if box else ""),
        name,
        "OAPIF",
    )
    if not layer.isValid():
        sys.exit(f"QGIS has no layer {name} of {server}")
    request = QgsFeatureRequest()
    if box:
        request.setFilterRect(QgsRectangle(*box)).setFlags(QgsFeatureRequest.ExactIntersect)
    for f in layer.getFeatures(request):
        g = f.geometry()
        named = "name" in f.fields().names() and f["name"]
        out = {
            "type": "Feature",
            "id": f["id"],
            "geometry": None if g.isNull() else json.loads(g.asJson(15)),
            "properties": {"name": f["name"]} if named else {},
        }
        print(json.dumps(out))


app = QgsApplication([], False)
app.initQgis()
read()
app.exitQgis()
