#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/schedule/pages/extent_index.h"
#include "coordinator/schedule/pages/extents.h"
#include "proto/model/token_id.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// Counters since the cache was made.
struct BlockCacheCounters {
  std::int64_t asked_tokens = 0;  ///< Tokens of prefixes and blocks that were looked up.
  std::int64_t hit_tokens = 0;    ///< Number of these that were found.
  // Storage, in pages, rounded up.
  std::int64_t evicted_pages = 0;  ///< Evicted to make room for others.
  std::int64_t cached_pages = 0;   ///< In the cache now.
};

/// Rank 0's index and allocator of the K/V pages, which are the same on all ranks.
///
/// The K/V of a page's rows depends only on the page's tokens and on the tokens of the pages before
/// it in its chain. Prefixes and blocks are therefore chains of nodes, each with the tokens of a
/// page. The parent of a node is the page before it. The parent of a block's first page is the end
/// of the prefix; of the first page of a grouped chunk, the end of the chunk before it; of a
/// prefix's first page, the root of its salt. A node is found by its parent, the position of its
/// first row and its tokens, which are compared, not hashed. Queries, items and chunks begin with a
/// new node, so that no hit crosses their boundaries.
///
/// The last node of a chain may have few tokens. It then has an extent of a page, and the rest of
/// the page belongs to others.
///
/// A holder of a node keeps it and its ancestors from being evicted. Unreferenced nodes stay cached
/// up to a budget. A page is evicted when none of its nodes has been used for the longest time, in
/// the order of their use, descendants before their ancestors. A page without held extents can
/// therefore always be taken as a whole.
///
/// Not safe for several threads.
class BlockCache {
 public:
  class Node;

  /// `pages` is the number of all pages, which are numbered from 0. At most `budget` pages of
  /// storage stay cached while unreferenced; with a budget of 0 nothing is ever cached.
  BlockCache(std::int32_t pages, std::int32_t budget);
  ~BlockCache();

  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  bool is_enabled() const { return budget_rows_ > 0; }
  /// Upper bound on the pages that are cached.
  std::int64_t budget_pages() const { return budget_rows_ / proto::kKvPageRows; }
  /// Number of all pages.
  std::int64_t pages() const { return pages_; }

  /// The root of a salt's chains, and the child of a node with exactly these tokens; null if there
  /// is none. Neither is held.
  const Node* FindRoot(const std::string& salt) const;
  const Node* FindChild(const Node& parent, std::int32_t first_position,
                        std::span<const proto::TokenId> tokens) const;

  /// Holds and returns the root of a salt's chains. It has no page.
  Node* HoldRoot(const std::string& salt);
  /// Holds and returns the child of `parent` with exactly these tokens, at most kKvPageRows of
  /// them; null if there is none. The K/V of a node that was inserted for the pass being formed is
  /// stored by that pass.
  Node* HoldChild(Node& parent, std::int32_t first_position,
                  std::span<const proto::TokenId> tokens);

  struct Overlap {
    Node* node = nullptr;
    std::int32_t rows = 0;
  };
  /// Holds and returns the child of `parent` that shares the longest beginning with these tokens,
  /// and the length of that beginning, which is the number of rows that can be copied from its
  /// extent. Only nodes whose K/V earlier passes have stored are considered. The node is null if no
  /// token is shared.
  Overlap HoldLongestOverlap(Node& parent, std::int32_t first_position,
                             std::span<const proto::TokenId> tokens);

  /// Adds an extent, which was taken, as a child of `parent`, which must have no child with these
  /// tokens. Returns the node, held.
  Node* Insert(Node& parent, std::int32_t first_position, std::span<const proto::TokenId> tokens,
               const Extent& extent);

  void Hold(Node& node);
  void Release(Node& node);

  /// Takes an extent of `rows` rows, a multiple of kKvGranule, and evicts nodes for it if none is
  /// free. Returns nothing if none is left; see available_pages for whole pages.
  std::optional<Extent> Take(std::int32_t rows);
  /// Takes an extent of this page. Returns nothing if no free one is large enough.
  std::optional<Extent> TakeFree(std::int32_t page, std::int32_t rows);
  /// Returns an extent that was taken, or a part of it.
  void Return(const Extent& extent);
  /// Like Take, for K/V that is stored only to be cached. Returns nothing while a job waits for
  /// pages.
  std::optional<Extent> TakeToCache(std::int32_t rows);
  /// Says whether a job waits for pages.
  void SetAwaited(bool is_awaited) { is_awaited_ = is_awaited; }
  /// Number of whole pages that Take would return now: those in which nothing is held.
  std::int64_t available_pages() const { return index_.unheld_pages(); }

  /// The pass that was being formed is over: the K/V of nodes inserted for it is stored.
  void PassDone();

  void Count(std::int64_t asked_tokens, std::int64_t hit_tokens);
  BlockCacheCounters counters() const;

  static const Extent& ExtentOf(const Node& node);

 private:
  using Children = std::map<std::pair<std::int32_t, std::vector<proto::TokenId>>,
                            std::unique_ptr<Node>, struct ChildOrder>;

  /// Evicts a node, and its descendants before it. None of them is held.
  void Evict(Node& node);
  void EvictLeaf(Node& leaf);
  /// Forgets a root without holders and children.
  void ForgetIfUnused(const Node& root);
  void KeepBudget();
  Node*& NodeAt(std::int32_t row);

  const std::int64_t pages_;
  const std::int64_t budget_rows_;
  std::map<std::string, std::unique_ptr<Node>> roots_;
  ExtentIndex index_;
  std::vector<Node*> nodes_;       ///< [granules]: the node whose extent contains it, or null.
  std::int64_t cached_rows_ = 0;   ///< Rows of storage of all nodes.
  std::int64_t evicted_rows_ = 0;  ///< Of all nodes evicted so far.
  std::uint64_t clock_ = ExtentIndex::kFree;
  bool is_awaited_ = false;
  std::vector<Node*> pending_;  ///< Inserted for the pass being formed, which holds them.
  BlockCacheCounters counters_;
};

}  // namespace scorecast::coordinator
