#include "coordinator/schedule/pages/block_cache.h"

#include <algorithm>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::TokenId;

/// Orders children by position, then by tokens, so that the child with the longest common beginning
/// is a neighbour.
struct ChildOrder {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return a.first != b.first ? a.first < b.first
                              : std::lexicographical_compare(a.second.begin(), a.second.end(),
                                                             b.second.begin(), b.second.end());
  }
};

class BlockCache::Node {
 public:
  Node* parent = nullptr;             // Null for a root.
  const std::string* salt = nullptr;  // Set for a root.
  Children::const_iterator self;      // Its place among the parent's children.
  Children children;
  std::int32_t page = -1;
  bool is_stored = false;
  std::int64_t holders = 0;  // Held children count as well.
  std::uint64_t last_held = 0;
};

namespace {

using Key = std::pair<std::int32_t, std::span<const TokenId>>;

std::int32_t CommonBeginning(std::span<const TokenId> a, std::span<const TokenId> b) {
  const std::size_t n = std::min(a.size(), b.size());
  return static_cast<std::int32_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()).first -
      a.begin());
}

}  // namespace

BlockCache::BlockCache(std::int32_t pages, std::int32_t budget) : budget_(budget) {
  for (std::int32_t page = 0; page < pages; ++page) {
    free_.insert(free_.end(), page);
  }
}

BlockCache::~BlockCache() = default;

std::int32_t BlockCache::PageOf(const Node& node) { return node.page; }

const BlockCache::Node* BlockCache::FindRoot(const std::string& salt) const {
  const auto found = roots_.find(salt);
  return found == roots_.end() ? nullptr : found->second.get();
}

const BlockCache::Node* BlockCache::FindChild(const Node& parent, std::int32_t first_position,
                                              std::span<const TokenId> tokens) const {
  const auto found = parent.children.find(Key(first_position, tokens));
  return found == parent.children.end() ? nullptr : found->second.get();
}

BlockCache::Node* BlockCache::HoldRoot(const std::string& salt) {
  const auto [found, is_new] = roots_.try_emplace(salt);
  if (is_new) {
    found->second = std::make_unique<Node>();
    found->second->salt = &found->first;
  }
  Hold(*found->second);
  return found->second.get();
}

BlockCache::Node* BlockCache::HoldChild(Node& parent, std::int32_t first_position,
                                        std::span<const TokenId> tokens) {
  const auto found = parent.children.find(Key(first_position, tokens));
  if (found == parent.children.end()) {
    return nullptr;
  }
  Hold(*found->second);
  return found->second.get();
}

BlockCache::Overlap BlockCache::HoldLongestOverlap(Node& parent, std::int32_t first_position,
                                                   std::span<const TokenId> tokens) {
  Overlap best;
  // Children are ordered by their tokens: the further from `next`, the shorter the common
  // beginning. Returns false if the next child in the same direction cannot share more than the
  // best one.
  const auto consider = [&](Children::const_iterator child) {
    const auto& [position, own] = child->first;
    if (position != first_position) {
      return false;
    }
    const std::int32_t rows = CommonBeginning(own, tokens);
    if (rows <= best.rows) {
      return false;
    }
    if (!child->second->is_stored) {
      return true;
    }
    best = {child->second.get(), rows};
    return false;
  };
  const auto next = parent.children.lower_bound(Key(first_position, tokens));
  for (auto child = next; child != parent.children.end() && consider(child); ++child) {
  }
  for (auto child = next; child != parent.children.begin() && consider(std::prev(child)); --child) {
  }
  if (best.node != nullptr) {
    Hold(*best.node);
  }
  return best;
}

BlockCache::Node* BlockCache::Insert(Node& parent, std::int32_t first_position,
                                     std::span<const TokenId> tokens, std::int32_t page) {
  const auto [place, is_new] = parent.children.try_emplace(
      {first_position, std::vector<TokenId>(tokens.begin(), tokens.end())});
  Check(is_new, "the same rows are cached once");
  place->second = std::make_unique<Node>();
  Node& node = *place->second;
  node.parent = &parent;
  node.self = place;
  node.page = page;
  node.holders = 2;  // The caller, and the pass being formed.
  Hold(parent);
  ++counters_.cached_pages;
  pending_.push_back(&node);
  return &node;
}

void BlockCache::Hold(Node& node) {
  for (Node* held = &node; held != nullptr && held->holders++ == 0; held = held->parent) {
    if (held->parent != nullptr) {
      idle_.erase(held->last_held);
    }
  }
}

void BlockCache::Release(Node& node) {
  Check(node.holders > 0, "a node that is released is held");
  if (--node.holders > 0) {
    return;
  }
  for (Node* idle = &node; idle != nullptr;) {
    Node* parent = idle->parent;
    if (parent == nullptr) {
      ForgetIfUnused(*idle);
    } else {
      idle->last_held = ++clock_;
      idle_.emplace_hint(idle_.end(), idle->last_held, idle);
    }
    idle = parent != nullptr && --parent->holders == 0 ? parent : nullptr;
  }
  while (counters_.cached_pages > budget_ && !idle_.empty()) {
    EvictOldest();
  }
}

void BlockCache::ForgetIfUnused(const Node& root) {
  if (root.holders == 0 && root.children.empty()) {
    roots_.erase(roots_.find(*root.salt));
  }
}

void BlockCache::EvictOldest() {
  const Node& oldest = *idle_.begin()->second;
  Check(oldest.children.empty(), "a node was used later than those that continue it");
  idle_.erase(idle_.begin());
  free_.insert(oldest.page);
  --counters_.cached_pages;
  ++counters_.evicted_pages;
  Node& parent = *oldest.parent;
  parent.children.erase(oldest.self);
  if (parent.parent == nullptr) {
    ForgetIfUnused(parent);
  }
}

std::optional<std::int32_t> BlockCache::Take() {
  if (free_.empty() && !idle_.empty()) {
    EvictOldest();
  }
  if (free_.empty()) {
    return std::nullopt;
  }
  return free_.extract(free_.begin()).value();
}

void BlockCache::Return(std::int32_t page) {
  Check(free_.insert(page).second, "a page that is returned was taken");
}

std::optional<std::int32_t> BlockCache::TakeToCache() {
  return is_awaited_ ? std::nullopt : Take();
}

void BlockCache::PassDone() {
  for (Node* node : pending_) {
    node->is_stored = true;
  }
  for (Node* node : std::exchange(pending_, {})) {
    Release(*node);
  }
}

void BlockCache::Count(std::int64_t asked_tokens, std::int64_t hit_tokens) {
  counters_.asked_tokens += asked_tokens;
  counters_.hit_tokens += hit_tokens;
}

}  // namespace scorecast::coordinator
