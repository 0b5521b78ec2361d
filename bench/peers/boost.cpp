//go:build boost && cgo

#include "boost.h"

#include <utility>
#include <vector>

#include <boost/iterator/function_output_iterator.hpp>
#include <boost/geometry.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/geometry/index/detail/rtree/utilities/view.hpp>

namespace bg = boost::geometry;
namespace bgi = boost::geometry::index;

using point = bg::model::point<double, 2, bg::cs::cartesian>;
using box = bg::model::box<point>;
using value = std::pair<box, uint64_t>;

static box to_box(const peers_rect &r) {
  return box(point(r.min_x, r.min_y), point(r.max_x, r.max_y));
}

// The numbers of entries are template arguments, so that Boost can keep
// nodes in arrays of fixed size; one virtual call a batch hides which.
struct peers_boost {
  virtual ~peers_boost() = default;
  virtual void insert(const peers_item *items, size_t n) = 0;
  virtual void load(const peers_item *items, size_t n) = 0;
  virtual size_t remove(const peers_item *items, size_t n) = 0;
  virtual peers_answer search(const peers_rect *qs, size_t n) const = 0;
  virtual void nearest(const peers_rect *at, size_t n, unsigned k,
                       uint64_t *ids) const = 0;
  virtual peers_reads reads(const peers_rect *qs, size_t n) const = 0;
};

namespace {

namespace detail = bgi::detail::rtree;

// counter visits the nodes that a search visits, as the library's own
// visitors do (detail/rtree/utilities/statistics.hpp), and counts them.
template <typename Value, typename Options, typename Box, typename Allocators>
struct counter
    : detail::visitor<Value, typename Options::parameters_type, Box, Allocators,
                      typename Options::node_tag, true>::type {
  using inner = typename detail::internal_node<
      Value, typename Options::parameters_type, Box, Allocators,
      typename Options::node_tag>::type;
  using leaf = typename detail::leaf<Value, typename Options::parameters_type,
                                     Box, Allocators,
                                     typename Options::node_tag>::type;
  box q;
  peers_reads n{0, 0};

  void operator()(const inner &node) {
    n.nodes++;
    for (const auto &child : detail::elements(node))
      if (bg::intersects(child.first, q))
        detail::apply_visitor(*this, *child.second);
  }
  void operator()(const leaf &) {
    n.nodes++;
    n.leaves++;
  }
};

template <size_t Entries>
struct tree final : peers_boost {
  bgi::rtree<value, bgi::rstar<Entries>> t;

  void insert(const peers_item *items, size_t n) override {
    for (size_t i = 0; i < n; i++)
      t.insert(value(to_box(items[i].rect), items[i].id));
  }

  // The constructor from a range packs; inserting a range does not.
  void load(const peers_item *items, size_t n) override {
    std::vector<value> values;
    values.reserve(n);
    for (size_t i = 0; i < n; i++)
      values.emplace_back(to_box(items[i].rect), items[i].id);
    t = decltype(t)(values.begin(), values.end());
  }

  size_t remove(const peers_item *items, size_t n) override {
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
      found += t.remove(value(to_box(items[i].rect), items[i].id));
    return found;
  }

  peers_answer search(const peers_rect *qs, size_t n) const override {
    peers_answer a{0, 0};
    auto add = boost::make_function_output_iterator([&a](const value &v) {
      a.count++;
      a.sum += v.second;
    });
    for (size_t i = 0; i < n; i++)
      t.query(bgi::intersects(to_box(qs[i])), add);
    return a;
  }

  void nearest(const peers_rect *at, size_t n, unsigned k,
               uint64_t *ids) const override {
    auto take = boost::make_function_output_iterator(
        [&ids](const value &v) { *ids++ = v.second; });
    for (size_t i = 0; i < n; i++) {
      const peers_rect &r = at[i];
      point p(r.min_x + (r.max_x - r.min_x) / 2,
              r.min_y + (r.max_y - r.min_y) / 2);
      t.query(bgi::nearest(p, k), take);
    }
  }

  peers_reads reads(const peers_rect *qs, size_t n) const override {
    using view = detail::utilities::view<decltype(t)>;
    counter<typename view::value_type, typename view::options_type,
            typename view::box_type, typename view::allocators_type>
        c;
    for (size_t i = 0; i < n; i++) {
      c.q = to_box(qs[i]);
      view(t).apply_visitor(c);
    }
    return c.n;
  }
};

}  // namespace

extern "C" {

peers_boost *peers_boost_new(int entries) {
  switch (entries) {
    case 16: return new tree<16>;
    case 32: return new tree<32>;
    case 42: return new tree<42>;
    default: return nullptr;
  }
}
void peers_boost_insert(peers_boost *t, const peers_item *items, size_t n) {
  t->insert(items, n);
}
void peers_boost_load(peers_boost *t, const peers_item *items, size_t n) {
  t->load(items, n);
}
size_t peers_boost_delete(peers_boost *t, const peers_item *items, size_t n) {
  return t->remove(items, n);
}
peers_answer peers_boost_search(const peers_boost *t, const peers_rect *qs,
                                size_t n) {
  return t->search(qs, n);
}
void peers_boost_nearest(const peers_boost *t, const peers_rect *at, size_t n,
                         unsigned k, uint64_t *ids) {
  t->nearest(at, n, k, ids);
}
peers_reads peers_boost_reads(const peers_boost *t, const peers_rect *qs,
                              size_t n) {
  return t->reads(qs, n);
}
void peers_boost_free(peers_boost *t) { delete t; }

}  // extern "C"
