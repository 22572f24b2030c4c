#include "coordinator/schedule/pass/sequence_pages.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::kKvGranule;
using proto::kKvPageRows;
using proto::SegmentKind;

SequencePages::SequencePages(const std::vector<SequencePart>& parts, bool takes_several_passes,
                             std::string salt, BlockCache& cache)
    : parts_(parts),
      prefix_parts_(PrefixParts(parts)),
      takes_several_passes_(takes_several_passes),
      salt_(std::move(salt)),
      cache_(cache),
      held_(parts.size()) {}

BlockCache::Node* SequencePages::EndOf(std::size_t part) const {
  if (parts_[part].rows() == 0) {
    return ParentOf(part);
  }
  const std::vector<Page>& pages = held_[part].pages;
  const bool has_all = static_cast<std::int64_t>(pages.size()) == KvPages(parts_[part].rows());
  return has_all ? pages.back().node : nullptr;
}

BlockCache::Node* SequencePages::ParentOf(std::size_t part) const {
  const proto::Segment& segment = parts_[part].segment;
  const bool follows_prefix = segment.kind != SegmentKind::kPrefix && !segment.continues;
  const std::size_t parts_before = follows_prefix ? prefix_parts_ : part;
  return parts_before == 0 ? root_ : EndOf(parts_before - 1);
}

void SequencePages::Open(bool look_up, std::int64_t spare_pages) {
  if (cache_.is_enabled()) {
    root_ = cache_.HoldRoot(salt_);
    for (std::size_t i = 0; look_up && i < parts_.size(); ++i) {
      if (parts_[i].is_shared) {
        Match(i);
      }
    }
  }
  if (!takes_several_passes_) {
    return;
  }
  if (!AreAvailable(Missing(), spare_pages)) {
    ReleaseOverlaps();  // The pages held for copying may be the ones that are missing.
  }
  // A read of a stored row computes that row, and those after it in its page, once more. A sequence
  // that takes several passes cannot count on a pass with room for all of these, so it then uses no
  // hits. Nor does it if they lie in so many pages that there are not enough others, even when no
  // other sequence holds any. If others hold them now, it waits, and then uses its hits.
  if (ReadsStoredRows() || CountNeededPages() + spare_pages > cache_.pages()) {
    Release();
  }
  needed_pages_ = CountNeededPages();
}

void SequencePages::Match(std::size_t index) {
  const SequencePart& part = parts_[index];
  Held& held = held_[index];
  BlockCache::Node* parent = ParentOf(index);
  while (parent != nullptr && held.stored < part.rows()) {
    const std::int32_t position = part.segment.first_position + held.stored;
    const auto tokens = std::span(part.tokens).subspan(static_cast<std::size_t>(held.stored));
    const auto page_tokens = tokens.first(std::min<std::size_t>(tokens.size(), kKvPageRows));
    BlockCache::Node* node = cache_.HoldChild(*parent, position, page_tokens);
    if (node == nullptr) {
      held.overlap = cache_.HoldLongestOverlap(*parent, position, page_tokens);
      return;
    }
    held.pages.push_back({BlockCache::ExtentOf(*node), node, false});
    held.stored += static_cast<std::int32_t>(page_tokens.size());
    parent = node;
  }
}

bool SequencePages::ReadsStoredRows() const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& reads = parts_[i].reads;
    if (std::any_of(reads.begin(), reads.end(), [&](const SequencePart::Read& read) {
          return read.row < held_[i].stored && read.row + 1 < parts_[i].rows();
        })) {
      return true;
    }
  }
  return false;
}

ExtentCounts SequencePages::Missing() const {
  ExtentCounts missing;
  // Chains that no other row sees are computed one after the other, in the same pages. Only the one
  // under way counts, or else the longest.
  std::int64_t longest_unseen = 0;
  std::optional<std::int64_t> unseen_under_way;
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(parts_, begin)) {
    std::int64_t missing_pages = 0;
    bool has_pages = false;
    for (std::size_t i = begin; i < ChainEnd(parts_, begin); ++i) {
      const SequencePart& part = parts_[i];
      const Held& held = held_[i];
      const auto pages = static_cast<std::int64_t>(held.pages.size());
      has_pages = has_pages || pages > 0;
      if (!part.must_be_kept || (held.stored == part.rows() && pages == 0)) {
        continue;
      }
      if (part.is_shared) {
        missing.AddRows(std::max<std::int64_t>(part.rows() - pages * kKvPageRows, 0));
      } else {
        missing_pages += KvPages(part.rows()) - pages;
      }
    }
    if (parts_[begin].is_shared || parts_[begin].is_growing) {
      missing.AddPages(missing_pages);
    } else if (has_pages) {
      unseen_under_way = missing_pages;
    } else {
      longest_unseen = std::max(longest_unseen, missing_pages);
    }
  }
  missing.AddPages(unseen_under_way.value_or(longest_unseen));
  for (std::int32_t rows = kKvGranule; rows <= kKvPageRows; rows += kKvGranule) {
    missing.Remove(rows, reserve_.count(rows));
  }
  return missing;
}

std::int64_t SequencePages::CountNeededPages() const {
  ExtentCounts needed;
  std::int64_t longest_unseen = 0;
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(parts_, begin)) {
    std::int64_t pages = 0;
    for (std::size_t i = begin; i < ChainEnd(parts_, begin); ++i) {
      const SequencePart& part = parts_[i];
      if (!part.must_be_kept) {
        continue;
      }
      if (part.is_shared) {
        needed.AddRows(part.rows() - held_[i].stored);
      } else {
        pages += KvPages(part.max_rows);
      }
    }
    if (parts_[begin].is_growing) {
      needed.AddPages(pages);
    } else {
      longest_unseen = std::max(longest_unseen, pages);
    }
  }
  return static_cast<std::int64_t>(PagesOfNodes().size()) + needed.pages() + longest_unseen;
}

std::vector<std::int32_t> SequencePages::PagesOfNodes() const {
  std::vector<std::int32_t> pages;
  for (const Held& held : held_) {
    for (const Page& page : held.pages) {
      if (page.node != nullptr) {
        pages.push_back(page.extent.page());
      }
    }
  }
  std::ranges::sort(pages);
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  return pages;
}

bool SequencePages::AreAvailable(const ExtentCounts& missing, std::int64_t spare_pages) const {
  const std::int64_t pages = missing.pages();
  return pages == 0 || pages + spare_pages <= cache_.available_pages();
}

bool SequencePages::Reserve(std::int64_t spare_pages) {
  if (!takes_several_passes_) {
    return true;
  }
  ExtentCounts missing = Missing();
  if (!AreAvailable(missing, spare_pages)) {
    return false;
  }
  TakeBesideNodes(missing);
  std::vector<Extent> pages(static_cast<std::size_t>(missing.pages()));
  std::ranges::generate(pages, [&] { return cache_.Take(kKvPageRows).value(); });
  ExtentPool taken;
  std::for_each(pages.rbegin(), pages.rend(), [&](const Extent& page) { taken.Add(page); });
  for (std::int32_t rows = kKvPageRows; rows > 0; rows -= kKvGranule) {
    for (std::int64_t i = missing.of(rows); i > 0; --i) {
      reserve_.Add(taken.Cut(rows));
    }
  }
  for (const Extent& extent : taken.TakeAll()) {
    cache_.Return(extent);
  }
  return true;
}

void SequencePages::TakeBesideNodes(ExtentCounts& missing) {
  constexpr std::array kRows = {2 * kKvGranule, kKvGranule};
  if (std::ranges::all_of(kRows, [&](std::int32_t rows) { return missing.of(rows) == 0; })) {
    return;
  }
  for (const std::int32_t page : PagesOfNodes()) {
    for (const std::int32_t rows : kRows) {
      while (missing.of(rows) > 0) {
        const auto extent = cache_.TakeFree(page, rows);
        if (!extent) {
          break;
        }
        reserve_.Add(*extent);
        missing.Remove(rows, 1);
      }
    }
  }
}

std::int32_t SequencePages::ExtentRows(std::size_t part, std::size_t index) const {
  if (!parts_[part].is_shared) {
    return kKvPageRows;
  }
  const auto begin = static_cast<std::int32_t>(index) * kKvPageRows;
  return std::min(proto::KvRows(parts_[part].rows() - begin), kKvPageRows);
}

std::optional<Extent> SequencePages::NewExtent(std::size_t index) {
  const SequencePart& part = parts_[index];
  const std::int32_t rows = ExtentRows(index, held_[index].pages.size());
  if (takes_several_passes_ && part.must_be_kept) {
    return reserve_.Take(rows);
  }
  const bool is_worth_caching = part.is_shared && !takes_several_passes_ && root_ != nullptr;
  return is_worth_caching ? cache_.TakeToCache(rows) : std::nullopt;
}

std::optional<std::int32_t> SequencePages::PageOf(std::size_t part, std::size_t index) {
  std::vector<Page>& pages = held_[part].pages;
  if (index == pages.size()) {
    if (const auto extent = NewExtent(part)) {
      pages.push_back({*extent, nullptr, true});
    }
  }
  return index < pages.size() ? std::optional(pages[index].extent.first) : std::nullopt;
}

void SequencePages::CopyOverlaps(PassBuilder& pass) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const SequencePart& part = parts_[i];
    Held& held = held_[i];
    if (held.overlap.node == nullptr) {
      continue;
    }
    BlockCache::Overlap overlap = std::exchange(held.overlap, {});
    copied_.push_back(overlap.node);
    if (takes_several_passes_ && !part.reads.empty() && part.reads.front().row + 1 < part.rows()) {
      // As in Open: a row that is read is computed, together with those after it.
      overlap.rows = std::min(overlap.rows, part.reads.front().row - held.stored);
    }
    const auto extent = overlap.rows > 0 ? NewExtent(i) : std::nullopt;
    if (extent) {
      held.pages.push_back({*extent, nullptr, true});
      held.stored += overlap.rows;
      pass.AddCopy({BlockCache::ExtentOf(*overlap.node).first, extent->first, overlap.rows});
    }
  }
}

std::int64_t SequencePages::CountLookup() {
  std::int64_t asked = 0;
  std::int64_t found = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    found += held_[i].stored;
    asked += parts_[i].is_shared && root_ != nullptr ? parts_[i].rows() : 0;
  }
  cache_.Count(asked, found);
  return found;
}

void SequencePages::Store(std::size_t part, std::int32_t end) {
  held_[part].stored = std::max(held_[part].stored, end);
  CachePages(part);
}

void SequencePages::CachePages(std::size_t index) {
  const SequencePart& part = parts_[index];
  Held& held = held_[index];
  BlockCache::Node* parent = part.is_shared ? ParentOf(index) : nullptr;
  for (std::size_t k = 0; k < held.pages.size() && parent != nullptr; ++k) {
    Page& page = held.pages[k];
    const auto begin = static_cast<std::int32_t>(k) * kKvPageRows;
    const std::int32_t rows = std::min(part.rows() - begin, kKvPageRows);
    if (page.node == nullptr && held.stored < begin + rows) {
      return;  // Not complete yet.
    }
    if (page.node == nullptr) {
      const auto tokens =
          std::span(part.tokens)
              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rows));
      const std::int32_t position = part.segment.first_position + begin;
      // Another sequence may have cached the same rows since the lookup.
      page.node = cache_.HoldChild(*parent, position, tokens);
      if (page.node == nullptr) {
        page.node = cache_.Insert(*parent, position, tokens, page.extent);
        page.is_own = false;
      } else if (MayReplace(page)) {
        has_duplicates_ = true;
      } else {
        cache_.Release(*std::exchange(page.node, nullptr));
      }
    }
    parent = page.node;
  }
}

bool SequencePages::MayReplace(const Page& page) {
  if (!takes_several_passes_ || page.extent.rows == kKvPageRows) {
    return true;
  }
  // The other extent may lie in one page more, while others keep the page of this one.
  if (needed_pages_ >= cache_.pages()) {
    return false;
  }
  ++needed_pages_;
  return true;
}

void SequencePages::PassDone() {
  ReleaseCopied();
  ReturnDuplicates();
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(parts_, begin)) {
    ReuseIfFinished(begin);
  }
}

void SequencePages::ReturnDuplicates() {
  if (!std::exchange(has_duplicates_, false)) {
    return;
  }
  for (Held& held : held_) {
    for (Page& page : held.pages) {
      if (page.is_own && page.node != nullptr) {
        cache_.Return(page.extent);
        page = {BlockCache::ExtentOf(*page.node), page.node, false};
      }
    }
  }
}

void SequencePages::ReuseIfFinished(std::size_t chain_begin) {
  const std::size_t chain_end = ChainEnd(parts_, chain_begin);
  for (std::size_t i = chain_begin; i < chain_end; ++i) {
    if (parts_[i].is_shared || parts_[i].is_growing || is_left(i)) {
      return;
    }
  }
  for (std::size_t i = chain_begin; i < chain_end; ++i) {
    for (const Page& page : std::exchange(held_[i].pages, {})) {
      reserve_.Add(page.extent);
    }
  }
}

void SequencePages::ReleaseOverlaps() {
  for (Held& held : held_) {
    if (held.overlap.node != nullptr) {
      cache_.Release(*std::exchange(held.overlap, {}).node);
    }
  }
}

void SequencePages::ReleaseCopied() {
  for (BlockCache::Node* node : std::exchange(copied_, {})) {
    cache_.Release(*node);
  }
}

void SequencePages::Release() {
  needed_pages_ = 0;
  ReleaseOverlaps();
  // Children are released before their parents. No unreferenced page then has a referenced child,
  // and all of them can be evicted.
  for (std::size_t i = parts_.size(); i-- > 0;) {
    Held& held = held_[i];
    for (auto page = held.pages.rbegin(); page != held.pages.rend(); ++page) {
      if (page->node != nullptr) {
        cache_.Release(*page->node);
      }
      if (page->is_own) {
        cache_.Return(page->extent);
      }
    }
    held.pages.clear();
    const SequencePart& part = parts_[i];
    const bool is_finished = !part.is_shared && !part.is_growing && !is_left(i);
    held.stored = is_finished ? part.rows() : 0;
  }
  for (const Extent& extent : reserve_.TakeAll()) {
    cache_.Return(extent);
  }
  ReleaseCopied();
  if (root_ != nullptr) {
    cache_.Release(*std::exchange(root_, nullptr));
  }
}

}  // namespace scorecast::coordinator
