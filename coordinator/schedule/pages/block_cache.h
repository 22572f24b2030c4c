#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// Counters since the cache was made.
struct BlockCacheCounters {
  std::int64_t asked_tokens = 0;   ///< Tokens of prefixes and blocks that were looked up.
  std::int64_t hit_tokens = 0;     ///< Number of these that were found.
  std::int64_t evicted_pages = 0;  ///< Pages evicted to make room for others.
  std::int64_t cached_pages = 0;   ///< Pages in the cache now.
};

/// Rank 0's index and allocator of the K/V pages, which are the same on all ranks.
///
/// The K/V of a page's rows depends only on the page's tokens and on the tokens of the pages before
/// it in its chain. Prefixes and blocks are therefore chains of nodes, each with the tokens of a
/// page. The parent of a node is the page before it. The parent of a block's first page is the end
/// of the prefix; of the first page of a grouped chunk, the end of the chunk before it; of a
/// prefix's first page, the root of its salt. A node is found by its parent, the position of its
/// first row and its tokens, which are compared, not hashed. Queries, items and chunks begin on a
/// new page, so that no hit crosses their boundaries. The last page of a chain may have few tokens.
///
/// A holder of a node keeps it and its ancestors from being evicted. Unreferenced nodes stay cached
/// up to a budget. The one that was not used for the longest time is evicted first. A node is in
/// use while its children are, so they are evicted before it.
///
/// Not safe for several threads.
class BlockCache {
 public:
  class Node;

  /// `pages` is the number of all pages, which are numbered from 0. At most `budget` of them stay
  /// cached while unreferenced; with a budget of 0 nothing is ever cached.
  BlockCache(std::int32_t pages, std::int32_t budget);
  ~BlockCache();

  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  bool is_enabled() const { return budget_ > 0; }
  /// Upper bound on the pages that are cached.
  std::int64_t budget_pages() const { return budget_; }

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
  /// page. Only nodes whose K/V earlier passes have stored are considered. The node is null if no
  /// token is shared.
  Overlap HoldLongestOverlap(Node& parent, std::int32_t first_position,
                             std::span<const proto::TokenId> tokens);

  /// Adds a page, which was taken, as a child of `parent`, which must have no child with these
  /// tokens. Returns the node, held.
  Node* Insert(Node& parent, std::int32_t first_position, std::span<const proto::TokenId> tokens,
               std::int32_t page);

  void Hold(Node& node);
  void Release(Node& node);

  /// Takes the free page with the lowest number, or evicts one. Returns nothing if all are held.
  std::optional<std::int32_t> Take();
  /// Returns a page that was taken.
  void Return(std::int32_t page);
  /// Like Take, for K/V that is stored only to be cached. Returns nothing while a job waits for
  /// pages.
  std::optional<std::int32_t> TakeToCache();
  /// Says whether a job waits for pages.
  void SetAwaited(bool is_awaited) { is_awaited_ = is_awaited; }
  /// Number of pages that Take would return now.
  std::int64_t available_pages() const {
    return static_cast<std::int64_t>(free_.size() + idle_.size());
  }

  /// The pass that was being formed is over: the K/V of nodes inserted for it is stored.
  void PassDone();

  void Count(std::int64_t asked_tokens, std::int64_t hit_tokens);
  const BlockCacheCounters& counters() const { return counters_; }

  static std::int32_t PageOf(const Node& node);

 private:
  using Children = std::map<std::pair<std::int32_t, std::vector<proto::TokenId>>,
                            std::unique_ptr<Node>, struct ChildOrder>;

  /// Evicts the node that was not used for the longest time. There must be an idle one.
  void EvictOldest();
  /// Forgets a root without holders and children.
  void ForgetIfUnused(const Node& root);

  const std::int64_t budget_;
  std::map<std::string, std::unique_ptr<Node>> roots_;
  std::set<std::int32_t> free_;
  std::map<std::uint64_t, Node*> idle_;  ///< Nodes without holders, by the time of their last use.
  std::uint64_t clock_ = 0;
  bool is_awaited_ = false;
  std::vector<Node*> pending_;  ///< Inserted for the pass being formed, which holds them.
  BlockCacheCounters counters_;
};

}  // namespace scorecast::coordinator
