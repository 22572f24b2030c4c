#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/sequence_parts.h"

namespace scorecast::coordinator {

class PassBuilder;

/// The pages that one sequence holds, and how many rows of each part have their K/V stored. Shared
/// parts are looked up in the cache, and put into it.
///
/// Parts are named by their index.
class SequencePages {
 public:
  /// With `takes_several_passes`, K/V that must be kept is stored in pages. Otherwise pages are
  /// taken only for K/V that is worth caching, and only while some are free. `parts` and `cache`
  /// outlive the object.
  SequencePages(const std::vector<SequencePart>& parts, bool takes_several_passes, std::string salt,
                BlockCache& cache);
  ~SequencePages() { Release(); }

  SequencePages(const SequencePages&) = delete;
  SequencePages& operator=(const SequencePages&) = delete;

  /// Looks the shared parts up in the cache, and holds what is found. No page may be held yet. With
  /// `look_up` false nothing is looked up, but the sequence's pages are still put into the cache.
  void Open(bool look_up);
  /// Takes the pages that the sequence will need for the tokens that it has so far, if it takes
  /// several passes. Takes none and returns false unless these and `spare_pages` more are
  /// available.
  bool Reserve(std::int64_t spare_pages);
  /// Adds copies to the pass: the first rows of cached pages that begin with the right tokens and
  /// then differ.
  void CopyOverlaps(PassBuilder& pass);
  /// Counts the lookup in the cache's counters. Returns the number of rows found: those stored so
  /// far, without `again`, which are computed again.
  std::int64_t CountLookup(std::int64_t again);

  /// Returns page `index` of a part, and takes it first if the part has only the pages before it.
  /// Returns nothing if the rows from there on belong in pass-local storage.
  std::optional<std::int32_t> PageOf(std::size_t part, std::size_t index);
  /// Records that the pass stores the K/V of a part's rows up to `end`. Puts complete pages of
  /// shared parts into the cache.
  void Store(std::size_t part, std::int32_t end);
  /// The pass is over. Releases the pages that it copied from, returns duplicates of cached pages,
  /// and puts the pages of finished chains that no other row sees back into the reserve.
  void PassDone();
  /// Gives all pages back. Their rows count as not stored, except those that no row needs any more.
  void Release();

  /// Rows of a part whose K/V is stored, or needed by no row any more.
  std::int32_t stored(std::size_t part) const { return held_[part].stored; }
  /// Rows of a part whose K/V lies in pages.
  std::int32_t stored_in_pages(std::size_t part) const {
    return held_[part].pages.empty() ? 0 : held_[part].stored;
  }
  /// Whether rows of the part are still to be computed or read.
  bool is_left(std::size_t part) const {
    return held_[part].stored < parts_[part].rows() || !parts_[part].reads.empty();
  }

 private:
  struct Page {
    std::int32_t page = -1;
    BlockCache::Node* node = nullptr;  ///< Null if the rows of the page are not in the cache.
    bool is_own = false;               ///< The page belongs to this sequence, not to the cache.
  };

  /// What is held of one part.
  struct Held {
    std::vector<Page> pages;  ///< From the part's first row on.
    std::int32_t stored = 0;
    BlockCache::Overlap overlap;  ///< Rows that can be copied into the first missing page.
  };

  void Match(std::size_t part);
  /// Releases the hits from the first page on of which a stored row is read, unless that row is its
  /// part's last one.
  void ReleaseStoredRowsToRead();
  /// Releases the hits from a part's page on, those of later parts included.
  void ReleaseHits(std::size_t first_part, std::size_t first_page);
  /// The pages that the sequence needs for the tokens that it has so far and does not hold yet.
  std::int64_t MissingPages() const;
  std::optional<std::int32_t> NewPage(std::size_t part);
  void CachePages(std::size_t part);
  void ReturnDuplicates();
  void ReuseIfFinished(std::size_t chain_begin);
  void ReleaseOverlaps();
  void ReleaseCopied();
  /// The parent node of the part's first page, and the node of its last page. Null if that is not
  /// in the cache.
  BlockCache::Node* ParentOf(std::size_t part) const;
  BlockCache::Node* EndOf(std::size_t part) const;

  const std::vector<SequencePart>& parts_;
  const std::size_t prefix_parts_;
  const bool takes_several_passes_;
  const std::string salt_;
  BlockCache& cache_;
  std::vector<Held> held_;  // [parts]
  BlockCache::Node* root_ = nullptr;
  std::vector<std::int32_t> reserve_;      // Pages taken and not used yet.
  std::vector<BlockCache::Node*> copied_;  // Held until the pass that copies from them is over.
  bool has_duplicates_ = false;            // Some own pages duplicate the page of their node.
};

}  // namespace scorecast::coordinator
