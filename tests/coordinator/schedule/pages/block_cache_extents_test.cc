// Extents of random sizes in a BlockCache, taken, cached, evicted and returned in random order.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"

namespace scorecast::coordinator {
namespace block_cache_extents_test {

using proto::kKvGranule;
using proto::kKvPageRows;
using proto::TokenId;

using Node = BlockCache::Node;
using Tokens = std::vector<TokenId>;

/// Extents of random sizes, compared with what a search of all granules finds.
class RandomExtents {
 public:
  explicit RandomExtents(std::uint32_t seed) : random_(seed) {}

  void Run() {
    for (int step = 0; step < 400 && !::testing::Test::HasFatalFailure(); ++step) {
      if (holders_.size() < 5 && Pick(0, 2) > 0) {
        Begin();
      } else if (!holders_.empty()) {
        const auto victim = holders_.begin() + Pick(0, static_cast<int>(holders_.size()) - 1);
        End(*victim);
        holders_.erase(victim);
      }
      Check();
      if (Pick(0, 9) == 0) {
        Drain();
      }
    }
    for (Holder& holder : holders_) {
      End(holder);
    }
    holders_.clear();
    Check();
    EXPECT_EQ(cache_.available_pages(), pages_);
  }

 private:
  /// A node that was cached when it was last looked for.
  struct Entry {
    Entry* parent = nullptr;  ///< Null if that is the root.
    std::pair<std::int32_t, Tokens> key;
    Extent extent;
    Node* node = nullptr;
    int holders = 0;
    bool is_cached = true;
  };
  /// Entries from the root on, and extents that are its own.
  struct Holder {
    std::vector<Entry*> entries;
    std::vector<Extent> own;
  };

  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  std::size_t granules() const { return static_cast<std::size_t>(pages_) * 4; }
  Node& NodeOf(const Entry* entry) { return entry == nullptr ? *root_ : *entry->node; }

  /// [granules]: whether an extent contains it that is taken or whose node is held.
  std::vector<bool> Held() const {
    std::vector<bool> held(granules());
    const auto mark = [&](const Extent& extent) {
      for (std::int32_t row = 0; row < extent.rows; row += kKvGranule) {
        auto granule = held[static_cast<std::size_t>((extent.first + row) / kKvGranule)];
        EXPECT_FALSE(granule) << "two extents share a granule";
        granule = true;
      }
    };
    for (const auto& entry : entries_) {
      if (entry->is_cached && entry->holders > 0) {
        mark(entry->extent);
      }
    }
    for (const Holder& holder : holders_) {
      std::ranges::for_each(holder.own, mark);
    }
    return held;
  }
  /// Number of blocks of `size` granules, aligned to their size, without held granules.
  std::int64_t Unheld(std::size_t size) const {
    const std::vector<bool> held = Held();
    std::int64_t blocks = 0;
    for (auto block = held.begin(); block != held.end();
         block += static_cast<std::ptrdiff_t>(size)) {
      const auto end = block + static_cast<std::ptrdiff_t>(size);
      blocks += std::find(block, end, true) == end ? 1 : 0;
    }
    return blocks;
  }

  std::optional<Extent> Take() {
    const int size = Pick(1, 4);
    const bool is_possible = Unheld(size == 3 ? 4 : static_cast<std::size_t>(size)) > 0;
    const std::vector<bool> held = Held();
    const auto extent = cache_.Take(size * kKvGranule);
    EXPECT_EQ(extent.has_value(), is_possible);
    if (extent) {
      EXPECT_EQ(extent->rows, size * kKvGranule);
      EXPECT_EQ(extent->page(), (extent->first + extent->rows - 1) / kKvPageRows);
      for (std::int32_t row = 0; row < extent->rows; row += kKvGranule) {
        EXPECT_FALSE(held[static_cast<std::size_t>((extent->first + row) / kKvGranule)]);
      }
    }
    return extent;
  }

  /// Holds a random chain, of which some nodes may be cached, and takes extents.
  void Begin() {
    Holder holder;
    Entry* parent = nullptr;
    for (int depth = Pick(0, 4); depth > 0; --depth) {
      const std::pair<std::int32_t, Tokens> key = {depth, {Pick(0, 3)}};
      LookUpAll();
      const auto known = std::ranges::find_if(entries_, [&](const auto& entry) {
        return entry->is_cached && entry->parent == parent && entry->key == key;
      });
      Entry* entry = known == entries_.end() ? nullptr : known->get();
      if (entry != nullptr) {
        ASSERT_EQ(cache_.HoldChild(NodeOf(parent), key.first, key.second), entry->node);
      } else {
        const auto extent = Take();
        if (!extent) {
          break;
        }
        Node* node = cache_.Insert(NodeOf(parent), key.first, key.second, *extent);
        entries_.push_back(std::make_unique<Entry>(Entry{parent, key, *extent, node}));
        entry = entries_.back().get();
      }
      ++entry->holders;
      holder.entries.push_back(entry);
      parent = entry;
    }
    // Of those that it takes now, it returns parts at once.
    holders_.push_back(holder);
    for (int count = Pick(0, 2); count > 0; --count) {
      if (const auto extent = Take()) {
        const std::int32_t kept = Pick(0, extent->rows / kKvGranule) * kKvGranule;
        if (kept < extent->rows) {
          cache_.Return({extent->first + kept, extent->rows - kept});
        }
        if (kept > 0) {
          holders_.back().own.push_back({extent->first, kept});
        }
      }
    }
    cache_.PassDone();
  }
  /// Releases in any order: ancestors may come before their descendants.
  void End(Holder& holder) {
    std::shuffle(holder.entries.begin(), holder.entries.end(), random_);
    for (Entry* entry : holder.entries) {
      cache_.Release(*entry->node);
    }
    for (Entry* entry : holder.entries) {
      --entry->holders;
    }
    for (const Extent& extent : holder.own) {
      cache_.Return(extent);
    }
    holder.own.clear();
  }

  /// Finds out which entries were evicted. Parents were made before their children.
  void LookUpAll() {
    // The cache then keeps its budget, and evicts nothing when an entry is released below.
    cache_.Release(*cache_.HoldRoot("other"));
    for (const auto& entry : entries_) {
      if (!entry->is_cached) {
        continue;
      }
      Node* node = nullptr;
      if (entry->parent == nullptr || entry->parent->is_cached) {
        node = cache_.HoldChild(NodeOf(entry->parent), entry->key.first, entry->key.second);
      }
      entry->is_cached = node != nullptr;
      ASSERT_TRUE(node != nullptr || entry->holders == 0) << "a held node was evicted";
      if (node != nullptr) {
        ASSERT_EQ(node, entry->node);
        cache_.Release(*node);
      }
    }
  }

  void Check() {
    LookUpAll();
    ASSERT_EQ(cache_.available_pages(), Unheld(4));
    std::vector<Extent> cached;
    std::int64_t rows = 0;
    bool is_any_idle = false;
    for (const auto& entry : entries_) {
      if (entry->is_cached) {
        cached.push_back(entry->extent);
        rows += entry->extent.rows;
        is_any_idle = is_any_idle || entry->holders == 0;
      }
    }
    std::ranges::sort(cached, {}, &Extent::first);
    for (std::size_t i = 1; i < cached.size(); ++i) {
      ASSERT_LE(cached[i - 1].first + cached[i - 1].rows, cached[i].first);
    }
    ASSERT_EQ(cache_.counters().cached_pages, (rows + kKvPageRows - 1) / kKvPageRows);
    ASSERT_TRUE(rows <= budget_ * kKvPageRows || !is_any_idle);
  }

  /// Takes all extents of one size, of which there must be as many as Unheld finds.
  void Drain() {
    const int size = std::array{1, 2, 4}[static_cast<std::size_t>(Pick(0, 2))];
    const std::int64_t expected = Unheld(static_cast<std::size_t>(size));
    Holder all;
    while (const auto extent = cache_.Take(size * kKvGranule)) {
      all.own.push_back(*extent);
    }
    ASSERT_EQ(static_cast<std::int64_t>(all.own.size()), expected);
    End(all);
    Check();
  }

  std::mt19937 random_;
  const std::int32_t pages_ = Pick(1, 8);
  const std::int32_t budget_ = Pick(1, pages_);
  BlockCache cache_{pages_, budget_};
  Node* root_ = cache_.HoldRoot("");
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Holder> holders_;
};

TEST(BlockCacheExtents, AreTakenExactlyIfNothingHoldsThem) {
  for (std::uint32_t seed = 0; seed < 100 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomExtents(seed).Run();
  }
}

}  // namespace block_cache_extents_test
}  // namespace scorecast::coordinator
