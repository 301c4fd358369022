// SPDX-License-Identifier: MIT
#include "key/diff.hpp"

#include <algorithm>

#include "key/describe.hpp"
#include "key/key.hpp"
#include "key/reader.hpp"

namespace tlc::key {

namespace {

// Longer differing stretches of lists are compared by position: alignment costs the product.
constexpr std::size_t kMaxAligned = 256;

bool equal(const Item& a, const Item& b) {
  return std::equal(a.raw.begin(), a.raw.end(), b.raw.begin(), b.raw.end());
}

bool both_are(const Item& a, const Item& b, Type type) {
  return !a.hashed && !b.hashed && a.type == type && b.type == type;
}

std::vector<Item> collect(Items items) {
  std::vector<Item> out;
  for (Item item; items.next(item) == Walk::item;) out.push_back(item);
  return out;
}

class Differ {
 public:
  std::vector<Difference> take() { return std::move(out_); }

  void named(Items was_items, Items now_items, const std::string& path) {
    const auto was = collect(was_items);
    const auto now = collect(now_items);
    auto a = was.begin();
    auto b = now.begin();
    while (a != was.end() || b != now.end()) {
      if (b == now.end() || (a != was.end() && a->name < b->name)) {
        removed(*a, join_path(path, a->name));
        ++a;
      } else if (a == was.end() || b->name < a->name) {
        added(*b, join_path(path, b->name));
        ++b;
      } else {
        changed(*a, *b, join_path(path, b->name));
        ++a;
        ++b;
      }
    }
  }

 private:
  using Slice = std::span<const Item>;

  void removed(const Item& was, std::string path) {
    out_.push_back({std::move(path), Change::removed, render(was), {}});
  }

  void added(const Item& now, std::string path) { out_.push_back({std::move(path), Change::added, {}, render(now)}); }

  void changed(const Item& was, const Item& now, std::string path) {
    if (equal(was, now)) return;
    if (both_are(was, now, Type::map)) {
      named(Items(was), Items(now), path);
    } else if (both_are(was, now, Type::list)) {
      lists(was, now, path);
    } else {
      out_.push_back({std::move(path), Change::changed, render(was), render(now)});
    }
  }

  void lists(const Item& was_list, const Item& now_list, const std::string& path) {
    const auto was = collect(Items(was_list));
    const auto now = collect(Items(now_list));
    std::size_t head = 0;
    const std::size_t shorter = std::min(was.size(), now.size());
    while (head < shorter && equal(was[head], now[head])) ++head;
    std::size_t tail = 0;
    while (tail < shorter - head && equal(was[was.size() - 1 - tail], now[now.size() - 1 - tail])) {
      ++tail;
    }
    const Slice a = Slice(was).subspan(head, was.size() - head - tail);
    const Slice b = Slice(now).subspan(head, now.size() - head - tail);
    if (a.size() <= kMaxAligned && b.size() <= kMaxAligned) {
      aligned(a, b, head, path);
    } else {
      replaced(a, b, head, head, path);
    }
  }

  // Between two elements that stayed: pairs are changes, the rest additions or removals.
  void replaced(Slice a, Slice b, std::size_t a_at, std::size_t b_at, const std::string& path) {
    const std::size_t pairs = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < pairs; ++i) changed(a[i], b[i], join_path(path, b_at + i));
    for (std::size_t i = pairs; i < a.size(); ++i) removed(a[i], join_path(path, a_at + i));
    for (std::size_t i = pairs; i < b.size(); ++i) added(b[i], join_path(path, b_at + i));
  }

  // The longest common subsequence stays; what lies between its elements was replaced.
  void aligned(Slice a, Slice b, std::size_t at, const std::string& path) {
    const std::size_t width = b.size() + 1;
    std::vector<std::uint16_t> length((a.size() + 1) * width, 0);  // of the rest, from (i, j)
    for (std::size_t i = a.size(); i-- > 0;) {
      for (std::size_t j = b.size(); j-- > 0;) {
        length[i * width + j] = equal(a[i], b[j]) ? static_cast<std::uint16_t>(length[(i + 1) * width + j + 1] + 1)
                                                  : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    std::size_t i = 0;
    std::size_t j = 0;
    std::size_t from_i = 0;
    std::size_t from_j = 0;
    const auto flush = [&] {
      replaced(a.subspan(from_i, i - from_i), b.subspan(from_j, j - from_j), at + from_i, at + from_j, path);
    };
    while (i < a.size() && j < b.size()) {
      if (equal(a[i], b[j])) {
        flush();
        from_i = ++i;
        from_j = ++j;
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
    i = a.size();
    j = b.size();
    flush();
  }

  std::vector<Difference> out_;
};

// A walk that remembers whether it met something unreadable.
struct Head {
  Items items;
  Item item{};
  Walk walk = Walk::end;

  explicit Head(Items walked) : items(walked) { step(); }
  void step() { walk = items.next(item); }
  [[nodiscard]] bool has() const { return walk == Walk::item; }
};

std::size_t distance_named(Head a, Head b, std::size_t depth, bool& malformed);

// Elements by position from both ends would need memory; from the front, one pass: after a first
// mismatch, an element of one list that equals the other's next counts as an insertion.
std::size_t distance_lists(Head a, Head b, bool& malformed) {
  std::size_t count = 0;
  while (a.has() && b.has()) {
    if (!equal(a.item, b.item)) {
      Head a_next = a;
      Head b_next = b;
      a_next.step();
      b_next.step();
      ++count;
      if (b_next.has() && equal(a.item, b_next.item)) {
        b = b_next;
      } else if (a_next.has() && equal(a_next.item, b.item)) {
        a = a_next;
      }
    }
    a.step();
    b.step();
  }
  for (; a.has(); a.step()) ++count;
  for (; b.has(); b.step()) ++count;
  malformed = malformed || a.walk == Walk::malformed || b.walk == Walk::malformed;
  return count;
}

std::size_t distance_items(const Item& a, const Item& b, std::size_t depth, bool& malformed) {
  if (equal(a, b)) return 0;
  if (depth <= kMaxDepth && both_are(a, b, Type::map)) {
    return distance_named(Head(Items(a)), Head(Items(b)), depth + 1, malformed);
  }
  if (both_are(a, b, Type::list)) {
    return distance_lists(Head(Items(a)), Head(Items(b)), malformed);
  }
  return 1;
}

std::size_t distance_named(Head a, Head b, std::size_t depth, bool& malformed) {
  std::size_t count = 0;
  while (a.has() || b.has()) {
    if (!b.has() || (a.has() && a.item.name < b.item.name)) {
      ++count;
      a.step();
    } else if (!a.has() || b.item.name < a.item.name) {
      ++count;
      b.step();
    } else {
      count += distance_items(a.item, b.item, depth, malformed);
      a.step();
      b.step();
    }
  }
  malformed = malformed || a.walk == Walk::malformed || b.walk == Walk::malformed;
  return count;
}

}  // namespace

Result<std::vector<Difference>> diff(std::span<const std::uint8_t> was, std::span<const std::uint8_t> now) {
  for (const auto encoding : {was, now}) {
    if (auto key = Key::decode(encoding); !key) return key.error();
  }
  Differ differ;
  differ.named(Items(was, true), Items(now, true), {});
  return differ.take();
}

std::size_t distance(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  bool malformed = false;
  const std::size_t count = distance_named(Head(Items(a, true)), Head(Items(b, true)), 0, malformed);
  return malformed ? SIZE_MAX : count;
}

}  // namespace tlc::key
