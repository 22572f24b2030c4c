#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::coordinator {

/// What became of the cache so far.
struct BlockCacheCounters {
  std::int64_t asked_tokens = 0;   ///< Of prefixes and blocks that were looked up.
  std::int64_t hit_tokens = 0;     ///< Of these, those that were there.
  std::int64_t evicted_pages = 0;  ///< Made room for others.
  std::int64_t cached_pages = 0;   ///< Now.
};

/// Which pages of kept K/V hold what: rank 0's index over the pages of all ranks, and the only one
/// who deals them out. K/V of a page follows from the tokens that its rows see, which are its own
/// and those of the chain of pages that it stands in. So prefixes and blocks are chains of nodes:
/// a node's parent is the page before it, that of a block's first page the prefix's end, that of a
/// grouped chunk's the end of the chunk before it, that of a prefix the root of its salt. A node is
/// known by its parent, the position of its first row and its tokens, which are compared, not
/// hashed. Boundaries between query, items and chunks are boundaries of pages: no hit crosses one.
///
/// Pages that nobody holds stay, up to a budget, until somebody needs room: the least recently used
/// goes first, never one before those that continue it. Not safe for several threads.
class BlockCache {
 public:
  class Node;

  /// `pages` in all, numbered from 0, of which at most `budget` stay cached when nobody holds
  /// them; with 0 nothing is ever cached.
  BlockCache(std::int32_t pages, std::int32_t budget);
  ~BlockCache();

  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  bool is_enabled() const { return budget_ > 0; }

  /// Where a salt's chains begin. It has no page. Held.
  Node* HoldRoot(const std::string& salt);
  /// The node behind `parent` with just these tokens, of which there are at most kKvPageRows.
  /// Held; null where there is none. It may be one whose K/V the pass that is being formed stores.
  Node* HoldChild(Node& parent, std::int32_t first_position,
                  std::span<const proto::TokenId> tokens);

  struct Overlap {
    Node* node = nullptr;
    std::int32_t rows = 0;
  };
  /// The node behind `parent` that begins with the most of these tokens, and how many: those rows
  /// can be copied from its page. Only nodes whose K/V earlier passes stored. Held, where there is
  /// one.
  Overlap HoldLongestOverlap(Node& parent, std::int32_t first_position,
                             std::span<const proto::TokenId> tokens);

  /// Puts a page, which was taken, behind `parent`, which has no such child. Held.
  Node* Insert(Node& parent, std::int32_t first_position, std::span<const proto::TokenId> tokens,
               std::int32_t page);

  void Hold(Node& node);
  void Release(Node& node);

  /// A page that is nobody's, or that nobody holds.
  std::optional<std::int32_t> TakePage();
  void ReturnPage(std::int32_t page);
  /// The same for K/V that could do without one: none while somebody waits for pages.
  std::optional<std::int32_t> TakePageToCache();
  void SetAwaited(bool is_awaited) { is_awaited_ = is_awaited; }
  /// How many pages TakePage would give now.
  std::int64_t available_pages() const;

  /// The pass that was being formed is over: what was inserted for it is stored.
  void PassDone();

  void Count(std::int64_t asked_tokens, std::int64_t hit_tokens);
  BlockCacheCounters counters() const;

  static std::int32_t PageOf(const Node& node);

 private:
  using Children = std::map<std::pair<std::int32_t, std::vector<proto::TokenId>>,
                            std::unique_ptr<Node>, struct ChildOrder>;

  void Evict(Node& node);
  /// A node that nobody holds and nothing continues may go.
  void NoteIdle(Node& node);
  void NoteUsed(Node& node);
  void KeepBudget();

  const std::int64_t budget_;
  std::vector<std::int32_t> free_;
  std::map<std::string, std::unique_ptr<Node>> roots_;
  std::int64_t cached_pages_ = 0;  ///< Of all nodes.
  std::int64_t idle_pages_ = 0;    ///< Of nodes that nobody holds.
  std::uint64_t clock_ = 0;
  bool is_awaited_ = false;
  std::set<std::pair<std::uint64_t, Node*>> idle_leaves_;  ///< By when they were last held.
  std::vector<Node*> pending_;                             ///< Held until the pass is done.
  BlockCacheCounters counters_;
};

}  // namespace scorecast::coordinator
