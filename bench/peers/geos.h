// The C face of geos.cpp, for cgo.
#ifndef CATFISH_PEERS_GEOS_H
#define CATFISH_PEERS_GEOS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// As rstar.Rect and rstar.Item.
typedef struct { double min_x, min_y, max_x, max_y; } peers_geos_rect;
typedef struct { peers_geos_rect rect; uint64_t id; } peers_geos_item;
typedef struct { uint64_t count, sum; } peers_geos_answer;

typedef struct peers_geos peers_geos;

// The functions return NULL or 0 when GEOS fails.
peers_geos *peers_geos_new(void);
int peers_geos_load(peers_geos *t, const peers_geos_item *items, size_t n);
// peers_geos_prepare makes the geometries of queries, which it keeps
// until the next call.
int peers_geos_prepare(peers_geos *t, const peers_geos_rect *qs, size_t n);
peers_geos_answer peers_geos_search(peers_geos *t, size_t lo, size_t hi);
void peers_geos_free(peers_geos *t);

#ifdef __cplusplus
}
#endif
#endif
