// The C face of boost.cpp, for cgo.
#ifndef CATFISH_PEERS_BOOST_H
#define CATFISH_PEERS_BOOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// As rstar.Rect and rstar.Item.
typedef struct { double min_x, min_y, max_x, max_y; } peers_rect;
typedef struct { peers_rect rect; uint64_t id; } peers_item;
typedef struct { uint64_t count, sum; } peers_answer;
typedef struct { uint64_t nodes, leaves; } peers_reads;

typedef struct peers_boost peers_boost;

// peers_boost_new returns an empty tree of at most 16, 32 or 42 entries
// a node, NULL for other numbers.
peers_boost *peers_boost_new(int entries);
void peers_boost_insert(peers_boost *t, const peers_item *items, size_t n);
// peers_boost_load replaces what the tree holds.
void peers_boost_load(peers_boost *t, const peers_item *items, size_t n);
// peers_boost_delete returns how many of the items were in the tree.
size_t peers_boost_delete(peers_boost *t, const peers_item *items, size_t n);
peers_answer peers_boost_search(const peers_boost *t, const peers_rect *qs, size_t n);
// peers_boost_nearest stores k ids for each rectangle's center.
void peers_boost_nearest(const peers_boost *t, const peers_rect *at, size_t n,
                         unsigned k, uint64_t *ids);
// peers_boost_reads returns how many nodes the searches visit.
peers_reads peers_boost_reads(const peers_boost *t, const peers_rect *qs, size_t n);
void peers_boost_free(peers_boost *t);

#ifdef __cplusplus
}
#endif
#endif
