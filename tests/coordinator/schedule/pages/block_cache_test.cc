#include "coordinator/schedule/pages/block_cache.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace block_cache_test {

using proto::TokenId;

using Node = BlockCache::Node;
using Tokens = std::vector<TokenId>;

/// Stores a page as a child of `parent`, as a pass does. The caller holds it.
Node* Store(BlockCache& cache, Node& parent, std::int32_t position, const Tokens& tokens) {
  Node* node = cache.Insert(parent, position, tokens, cache.Take().value());
  cache.PassDone();
  return node;
}

/// The same, but nothing holds it afterwards.
void StoreIdle(BlockCache& cache, Node& parent, std::int32_t position, const Tokens& tokens) {
  cache.Release(*Store(cache, parent, position, tokens));
}

bool IsCached(BlockCache& cache, Node& parent, std::int32_t position, const Tokens& tokens) {
  Node* node = cache.HoldChild(parent, position, tokens);
  if (node != nullptr) {
    cache.Release(*node);
  }
  return node != nullptr;
}

TEST(BlockCache, AHitNeedsTheSameTokensPositionParentAndSalt) {
  BlockCache cache(8, 8);
  Node* root = cache.HoldRoot("");
  Node* other_root = cache.HoldRoot("tenant");
  Node* query = Store(cache, *root, 0, {1, 2, 3});
  Node* item = Store(cache, *query, 3, {7, 8});

  Node* found = cache.HoldChild(*root, 0, Tokens{1, 2, 3});
  EXPECT_EQ(found, query);
  EXPECT_EQ(BlockCache::PageOf(*found), BlockCache::PageOf(*query));
  EXPECT_TRUE(IsCached(cache, *query, 3, {7, 8}));
  EXPECT_FALSE(IsCached(cache, *root, 0, {1, 2}));
  EXPECT_FALSE(IsCached(cache, *root, 0, {1, 2, 3, 4}));
  EXPECT_FALSE(IsCached(cache, *root, 0, {1, 2, 4}));
  EXPECT_FALSE(IsCached(cache, *root, 3, {1, 2, 3}));
  EXPECT_FALSE(IsCached(cache, *query, 4, {7, 8}));
  EXPECT_FALSE(IsCached(cache, *root, 3, {7, 8}));
  EXPECT_FALSE(IsCached(cache, *item, 3, {7, 8}));
  EXPECT_FALSE(IsCached(cache, *other_root, 0, {1, 2, 3}));
}

TEST(BlockCache, FindsTheLongestOverlapAmongNeighbours) {
  BlockCache cache(8, 8);
  Node* root = cache.HoldRoot("");
  StoreIdle(cache, *root, 0, {1, 2, 3, 9});
  StoreIdle(cache, *root, 0, {1, 2, 5, 6});
  StoreIdle(cache, *root, 0, {1, 7});
  StoreIdle(cache, *root, 4, {1, 2, 4, 8});
  const auto overlap = [&](std::int32_t position, const Tokens& tokens) {
    const auto found = cache.HoldLongestOverlap(*root, position, tokens);
    if (found.node != nullptr) {
      cache.Release(*found.node);
    }
    return std::pair(found.rows, found.node == nullptr ? -1 : BlockCache::PageOf(*found.node));
  };
  EXPECT_EQ(overlap(0, {1, 2, 3, 4}), std::pair(3, 0)) << "the neighbour below";
  EXPECT_EQ(overlap(0, {1, 2, 5, 1}), std::pair(3, 1)) << "the one above";
  EXPECT_EQ(overlap(0, {1, 2, 5}), std::pair(3, 1)) << "all tokens are shared";
  EXPECT_EQ(overlap(0, {1, 7, 7, 7}), std::pair(2, 2));
  EXPECT_EQ(overlap(4, {1, 2, 3, 9}), std::pair(2, 3)) << "of this position only";
  EXPECT_EQ(overlap(0, {2}), std::pair(0, -1));
  EXPECT_EQ(overlap(3, {1, 2}), std::pair(0, -1));
}

TEST(BlockCache, PagesOfThePassBeingFormedAreFoundButNotCopied) {
  BlockCache cache(8, 8);
  Node* root = cache.HoldRoot("");
  Node* node = cache.Insert(*root, 0, Tokens{1, 2, 3}, cache.Take().value());
  EXPECT_TRUE(IsCached(cache, *root, 0, {1, 2, 3}));
  EXPECT_EQ(cache.HoldLongestOverlap(*root, 0, Tokens{1, 2}).node, nullptr);
  cache.PassDone();
  EXPECT_EQ(cache.HoldLongestOverlap(*root, 0, Tokens{1, 2}).node, node);
}

TEST(BlockCache, LooksForOverlapPastPagesOfThePassBeingFormed) {
  BlockCache cache(16, 16);
  Node* root = cache.HoldRoot("");
  Node* low = Store(cache, *root, 0, {1, 2, 1});
  Node* high = Store(cache, *root, 0, {1, 2, 9, 9});
  for (TokenId token = 3; token < 8; ++token) {
    cache.Insert(*root, 0, Tokens{1, 2, token}, cache.Take().value());
  }
  const BlockCache::Overlap found = cache.HoldLongestOverlap(*root, 0, Tokens{1, 2, 5, 5});
  EXPECT_TRUE(found.node == low || found.node == high);
  EXPECT_EQ(found.rows, 2);
  EXPECT_EQ(cache.HoldLongestOverlap(*root, 0, Tokens{1, 2, 9, 8}).node, high);
  cache.PassDone();
  EXPECT_EQ(cache.HoldLongestOverlap(*root, 0, Tokens{1, 2, 5, 5}).rows, 3);
}

TEST(BlockCache, TheLeastRecentlyUsedIsEvictedFirst) {
  BlockCache cache(3, 3);
  Node* root = cache.HoldRoot("");
  for (const TokenId token : {1, 2, 3}) {
    StoreIdle(cache, *root, 0, {token});
  }
  EXPECT_TRUE(IsCached(cache, *root, 0, {1}));  // This is a use of the page.
  EXPECT_EQ(cache.Take(), 1);
  EXPECT_FALSE(IsCached(cache, *root, 0, {2}));
  EXPECT_EQ(cache.Take(), 2);
  EXPECT_EQ(cache.Take(), 0);
  EXPECT_EQ(cache.Take(), std::nullopt);
  EXPECT_EQ(cache.counters().evicted_pages, 3);
  EXPECT_EQ(cache.counters().cached_pages, 0);
}

TEST(BlockCache, NoNodeIsEvictedBeforeItsChildrenNorWhileItIsHeld) {
  BlockCache cache(4, 4);
  Node* root = cache.HoldRoot("");
  Node* query = Store(cache, *root, 0, {1});
  Node* first = Store(cache, *query, 1, {2});
  Node* second = Store(cache, *query, 1, {3});
  Node* other = Store(cache, *root, 0, {4});
  cache.Release(*second);
  EXPECT_EQ(cache.available_pages(), 1);
  cache.Release(*first);
  cache.Release(*query);
  EXPECT_EQ(cache.available_pages(), 3);
  EXPECT_EQ(cache.Take(), 2);
  EXPECT_EQ(cache.Take(), 1);
  EXPECT_TRUE(IsCached(cache, *root, 0, {1}));
  EXPECT_EQ(cache.Take(), 0) << "the older ones are gone";
  EXPECT_EQ(cache.Take(), std::nullopt) << "the last one is held";
  cache.Release(*other);
  EXPECT_EQ(cache.Take(), 3);
}

TEST(BlockCache, ANodeThatIsReleasedBeforeItsChildIsUsedAsLongAsThatOne) {
  BlockCache cache(3, 3);
  Node* root = cache.HoldRoot("");
  Node* query = Store(cache, *root, 0, {1});
  Node* item = Store(cache, *query, 1, {2});
  cache.Release(*query);
  StoreIdle(cache, *root, 0, {3});
  EXPECT_EQ(cache.available_pages(), 1);
  cache.Release(*item);
  EXPECT_EQ(cache.available_pages(), 3);
  EXPECT_EQ(cache.Take(), 2);
  EXPECT_EQ(cache.Take(), 1);
  EXPECT_EQ(cache.Take(), 0);
}

TEST(BlockCache, KeepsItsBudgetOfUnreferencedPages) {
  BlockCache cache(10, 2);
  Node* root = cache.HoldRoot("");
  std::vector<Node*> nodes;
  for (const TokenId token : {1, 2, 3, 4}) {
    nodes.push_back(Store(cache, *root, 0, {token}));
  }
  EXPECT_EQ(cache.counters().cached_pages, 4) << "held";
  for (Node* node : nodes) {
    cache.Release(*node);
  }
  EXPECT_EQ(cache.counters().cached_pages, 2);
  EXPECT_EQ(cache.available_pages(), 10);
  EXPECT_TRUE(IsCached(cache, *root, 0, {3}));
  EXPECT_TRUE(IsCached(cache, *root, 0, {4}));
}

TEST(BlockCache, WithABudgetOfZeroItOnlyAllocatesPages) {
  BlockCache cache(2, 0);
  EXPECT_FALSE(cache.is_enabled());
  EXPECT_EQ(cache.Take(), 0);
  EXPECT_EQ(cache.Take(), 1);
  EXPECT_EQ(cache.Take(), std::nullopt);
  cache.Return(0);
  EXPECT_EQ(cache.available_pages(), 1);
  EXPECT_EQ(cache.Take(), 0);
}

TEST(BlockCache, TakesNoPageToCacheWhileAJobWaitsForPages) {
  BlockCache cache(2, 2);
  cache.SetAwaited(true);
  EXPECT_EQ(cache.TakeToCache(), std::nullopt);
  EXPECT_TRUE(cache.Take());
  cache.SetAwaited(false);
  EXPECT_TRUE(cache.TakeToCache());
  EXPECT_FALSE(cache.TakeToCache());
}

TEST(BlockCache, ASaltIsForgottenWithItsLastPage) {
  BlockCache cache(1, 1);
  for (const bool has_page : {false, true}) {
    Node* root = cache.HoldRoot("tenant");
    if (has_page) {
      StoreIdle(cache, *root, 0, {1});
    }
    cache.Release(*root);
    if (has_page) {
      root = cache.HoldRoot("tenant");
      EXPECT_TRUE(IsCached(cache, *root, 0, {1})) << "kept by its page";
      cache.Release(*root);
      EXPECT_EQ(cache.Take(), 0);
    }
    root = cache.HoldRoot("tenant");
    EXPECT_FALSE(IsCached(cache, *root, 0, {1}));
    cache.Release(*root);
  }
}

TEST(BlockCache, CountsTokensLookedUpAndFound) {
  BlockCache cache(1, 1);
  cache.Count(100, 64);
  cache.Count(10, 0);
  EXPECT_EQ(cache.counters().asked_tokens, 110);
  EXPECT_EQ(cache.counters().hit_tokens, 64);
}

/// A naive model of what the cache must hold: entries by their chain of keys, without any index.
class Model {
 public:
  using Key = std::pair<std::int32_t, Tokens>;
  using Chain = std::vector<Key>;
  struct Entry {
    std::int32_t page = 0;
    int holders = 0;
    std::uint64_t released = 0;
  };

  explicit Model(std::size_t budget) : budget_(budget) {}

  bool IsLeaf(const Chain& chain) const {
    return std::none_of(entries_.begin(), entries_.end(), [&](const auto& entry) {
      return entry.first.size() > chain.size() &&
             std::equal(chain.begin(), chain.end(), entry.first.begin());
    });
  }
  /// Evicts the idle leaf that was released first, and returns its page, or -1 if there is none.
  std::int32_t Evict() {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.holders == 0 && IsLeaf(entry->first) &&
          (oldest == entries_.end() || entry->second.released < oldest->second.released)) {
        oldest = entry;
      }
    }
    const std::int32_t page = oldest == entries_.end() ? -1 : oldest->second.page;
    if (oldest != entries_.end()) {
      entries_.erase(oldest);
      free_.insert(page);
    }
    return page;
  }
  void Release(const Chain& chain) {
    Entry& entry = entries_.at(chain);
    if (--entry.holders == 0) {
      entry.released = ++clock_;
      while (entries_.size() > budget_ && Evict() >= 0) {
      }
    }
  }

  std::map<Chain, Entry> entries_;
  std::set<std::int32_t> free_;  // The lowest is taken first.
  std::size_t budget_;
  std::uint64_t clock_ = 0;
};

TEST(BlockCache, BehavesLikeANaiveModel) {
  std::mt19937 random(20261122);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const int pages = pick(2, 12);
    const int budget = pick(1, pages);
    BlockCache cache(pages, budget);
    Model model(static_cast<std::size_t>(budget));
    for (int page = pages; page-- > 0;) {
      model.free_.insert(page);
    }
    /// The nodes that a sequence holds, from the root on, and pages of its own.
    struct Holder {
      Node* root;
      std::vector<std::pair<Node*, Model::Chain>> nodes;
      std::vector<std::int32_t> own;
    };
    std::vector<Holder> holders;
    for (int step = 0; step < 300; ++step) {
      if (holders.size() < 4 && pick(0, 2) > 0) {
        Holder holder{cache.HoldRoot(""), {}, {}};
        Node* parent = holder.root;
        Model::Chain chain;
        for (int depth = pick(1, 4); depth > 0; --depth) {
          const Model::Key key{static_cast<std::int32_t>(chain.size()), {pick(0, 2), pick(0, 1)}};
          chain.push_back(key);
          Node* node = cache.HoldChild(*parent, key.first, key.second);
          const auto known = model.entries_.find(chain);
          ASSERT_EQ(node != nullptr, known != model.entries_.end());
          if (node == nullptr) {
            if (model.free_.empty()) {
              model.Evict();
            }
            const auto page = cache.Take();
            ASSERT_EQ(page.has_value(), !model.free_.empty());
            if (!page) {
              break;
            }
            ASSERT_EQ(*page, *model.free_.begin());
            model.free_.erase(*page);
            node = cache.Insert(*parent, key.first, key.second, *page);
            model.entries_[chain] = {*page, 1};
          } else {
            ASSERT_EQ(BlockCache::PageOf(*node), known->second.page);
            ++known->second.holders;
          }
          holder.nodes.emplace_back(node, chain);
          parent = node;
        }
        if (pick(0, 3) == 0) {
          if (const auto page = cache.Take()) {
            if (model.free_.empty()) {
              ASSERT_EQ(model.Evict(), *page);
            }
            model.free_.erase(*page);
            holder.own.push_back(*page);
          }
        }
        cache.PassDone();
        holders.push_back(holder);
      } else if (!holders.empty()) {
        const auto victim = holders.begin() + pick(0, static_cast<int>(holders.size()) - 1);
        for (auto node = victim->nodes.rbegin(); node != victim->nodes.rend(); ++node) {
          cache.Release(*node->first);
          model.Release(node->second);
        }
        for (const std::int32_t page : victim->own) {
          cache.Return(page);
          model.free_.insert(page);
        }
        cache.Release(*victim->root);
        holders.erase(victim);
      }
      ASSERT_EQ(cache.counters().cached_pages, static_cast<std::int64_t>(model.entries_.size()));
      const auto idle = std::count_if(model.entries_.begin(), model.entries_.end(),
                                      [](const auto& entry) { return entry.second.holders == 0; });
      ASSERT_EQ(cache.available_pages(), static_cast<std::int64_t>(model.free_.size()) + idle);
      if (pick(0, 9) == 0) {  // Checks the number of available pages.
        std::vector<std::int32_t> taken;
        const std::int64_t available = cache.available_pages();
        while (const auto page = cache.Take()) {
          if (model.free_.empty()) {
            model.Evict();
          }
          ASSERT_EQ(*page, *model.free_.begin());
          model.free_.erase(*page);
          taken.push_back(*page);
        }
        ASSERT_EQ(static_cast<std::int64_t>(taken.size()), available);
        for (const std::int32_t page : taken) {
          cache.Return(page);
          model.free_.insert(page);
        }
      }
    }
  }
}

}  // namespace block_cache_test
}  // namespace scorecast::coordinator
