//go:build geos && cgo

#include "geos.h"

#include <vector>

#include <geos_c.h>

#if GEOS_VERSION_MAJOR < 3 || (GEOS_VERSION_MAJOR == 3 && GEOS_VERSION_MINOR < 11)
#error "GEOS 3.11 or later is needed: GEOSGeom_createRectangle"
#endif

struct peers_geos {
  GEOSContextHandle_t ctx = nullptr;
  GEOSSTRtree *t = nullptr;
  std::vector<GEOSGeometry *> queries;

  void forget() {
    for (auto *q : queries) GEOSGeom_destroy_r(ctx, q);
    queries.clear();
  }
  GEOSGeometry *rectangle(const peers_geos_rect &r) {
    return GEOSGeom_createRectangle_r(ctx, r.min_x, r.min_y, r.max_x, r.max_y);
  }
};

static void add(void *item, void *answer) {
  auto *a = static_cast<peers_geos_answer *>(answer);
  a->count++;
  a->sum += reinterpret_cast<uintptr_t>(item);
}

extern "C" {

peers_geos *peers_geos_new(void) {
  auto *t = new peers_geos;
  t->ctx = GEOS_init_r();
  return t;
}

int peers_geos_load(peers_geos *t, const peers_geos_item *items, size_t n) {
  // 10 entries a node is what geos_c.h says to use if unsure.
  t->t = GEOSSTRtree_create_r(t->ctx, 10);
  if (!t->t) return 0;
  for (size_t i = 0; i < n; i++) {
    GEOSGeometry *g = t->rectangle(items[i].rect);
    if (!g) return 0;
    GEOSSTRtree_insert_r(t->ctx, t->t, g,
                         reinterpret_cast<void *>(uintptr_t(items[i].id)));
    // The tree has its own copy of the envelope since GEOS 3.9 (geos_c.h).
    GEOSGeom_destroy_r(t->ctx, g);
  }
  // The first query builds the tree.
  GEOSGeometry *g = t->rectangle(items[0].rect);
  if (!g) return 0;
  peers_geos_answer a{0, 0};
  GEOSSTRtree_query_r(t->ctx, t->t, g, add, &a);
  GEOSGeom_destroy_r(t->ctx, g);
  return a.count > 0;
}

int peers_geos_prepare(peers_geos *t, const peers_geos_rect *qs, size_t n) {
  t->forget();
  t->queries.reserve(n);
  for (size_t i = 0; i < n; i++) {
    GEOSGeometry *g = t->rectangle(qs[i]);
    if (!g) return 0;
    t->queries.push_back(g);
  }
  return 1;
}

peers_geos_answer peers_geos_search(peers_geos *t, size_t lo, size_t hi) {
  peers_geos_answer a{0, 0};
  for (size_t i = lo; i < hi; i++)
    GEOSSTRtree_query_r(t->ctx, t->t, t->queries[i], add, &a);
  return a;
}

void peers_geos_free(peers_geos *t) {
  t->forget();
  if (t->t) GEOSSTRtree_destroy_r(t->ctx, t->t);
  GEOS_finish_r(t->ctx);
  delete t;
}

}  // extern "C"
