// SequenceRun: what it finds in the cache, takes, puts into the cache, and gives back.

#include <algorithm>
#include <utility>

#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/sequence_run.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::kKvPageRows;
using proto::Segment;
using proto::SegmentKind;

BlockCache::Node* SequenceRun::EndOf(std::size_t index) const {
  const Part& part = parts_[index];
  if (part.rows() == 0) {
    return ParentOf(index);
  }
  const bool is_whole = static_cast<std::int64_t>(part.pages.size()) == KvPages(part.rows());
  return is_whole ? part.pages.back().node : nullptr;
}

BlockCache::Node* SequenceRun::ParentOf(std::size_t index) const {
  const Segment& segment = parts_[index].segment;
  const bool is_behind_prefix = segment.kind != SegmentKind::kPrefix && !segment.continues;
  const std::size_t before = is_behind_prefix ? prefix_parts_ : index;
  return before == 0 ? root_ : EndOf(before - 1);
}

void SequenceRun::Match(std::size_t index) {
  Part& part = parts_[index];
  BlockCache::Node* parent = ParentOf(index);
  while (parent != nullptr && part.stored < part.rows()) {
    const std::int32_t position = part.segment.first_position + part.stored;
    const auto tokens = std::span(part.tokens).subspan(static_cast<std::size_t>(part.stored));
    const auto of_page = tokens.first(std::min<std::size_t>(tokens.size(), kKvPageRows));
    BlockCache::Node* node = cache_.HoldChild(*parent, position, of_page);
    if (node == nullptr) {
      part.overlap = cache_.HoldLongestOverlap(*parent, position, of_page);
      return;
    }
    part.pages.push_back({BlockCache::PageOf(*node), node, false});
    part.stored += static_cast<std::int32_t>(of_page.size());
    parent = node;
  }
}

bool SequenceRun::ReadsWhatIsStored() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) {
    return std::any_of(part.reads.begin(), part.reads.end(), [&](const Read& read) {
      return read.row < part.stored && read.row + 1 < part.rows();
    });
  });
}

void SequenceRun::Open() {
  if (is_open_) {
    return;
  }
  is_open_ = true;
  if (!cache_.is_enabled()) {
    return;
  }
  root_ = cache_.HoldRoot(salt_);
  if (score_reads_.empty() && answers_.empty()) {
    return;  // If all were found, nothing would be left that a pass could compute.
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].is_shared) {
      Match(i);
    }
  }
  // A pass may be too small for the rows of a page between one that is read and its end.
  if (takes_several_ && ReadsWhatIsStored()) {
    ReleasePages();
    is_open_ = true;
  }
}

bool SequenceRun::Reserve(std::int64_t spare_pages) {
  std::int64_t needed = 0;
  std::int64_t one_at_a_time = 0;  // For the longest of the chains that nobody sees later,
  std::int64_t under_way = 0;      // or for what is left of the one that has begun.
  bool has_begun = false;
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(begin)) {
    std::int64_t of_chain = 0;
    bool has_pages = false;
    for (std::size_t i = begin; i < ChainEnd(begin); ++i) {
      const Part& part = parts_[i];
      has_pages = has_pages || !part.pages.empty();
      if (part.must_be_kept && (part.stored < part.rows() || !part.pages.empty())) {
        of_chain += KvPages(part.rows()) - static_cast<std::int64_t>(part.pages.size());
      }
    }
    if (parts_[begin].is_shared || parts_[begin].is_answered) {
      needed += of_chain;
    } else if (has_pages) {
      has_begun = true;
      under_way = of_chain;
    } else {
      one_at_a_time = std::max(one_at_a_time, of_chain);
    }
  }
  needed += (has_begun ? under_way : one_at_a_time) - static_cast<std::int64_t>(reserve_.size());
  if (needed > 0 && needed + spare_pages > cache_.available_pages()) {
    ReleaseOverlaps();  // What would be copied may be what is missing.
  }
  if (needed > 0 && needed + spare_pages > cache_.available_pages()) {
    return false;
  }
  for (; needed > 0; --needed) {
    reserve_.push_back(cache_.TakePage().value());
  }
  return true;
}

std::optional<std::int32_t> SequenceRun::NewPage(const Part& part) {
  if (takes_several_ && part.must_be_kept) {
    Check(!reserve_.empty(), "pages of a run of several passes are reserved");
    const std::int32_t page = reserve_.back();
    reserve_.pop_back();
    return page;
  }
  const bool is_worth_one = part.is_shared && !takes_several_ && root_ != nullptr;
  return is_worth_one ? cache_.TakePageToCache() : std::nullopt;
}

void SequenceRun::CopyOverlaps(PassBuilder& pass) {
  for (Part& part : parts_) {
    if (part.overlap.node == nullptr) {
      continue;
    }
    BlockCache::Overlap overlap = std::exchange(part.overlap, {});
    sources_.push_back(overlap.node);  // Held until the pass is over.
    if (takes_several_ && !part.reads.empty() && part.reads.front().row + 1 < part.rows()) {
      // As in Open: what is read is computed, with what follows it.
      overlap.rows = std::min(overlap.rows, part.reads.front().row - part.stored);
    }
    const auto page = overlap.rows > 0 ? NewPage(part) : std::nullopt;
    if (page) {
      part.pages.push_back({*page, nullptr, true});
      part.stored += overlap.rows;
      pass.AddCopy(
          {BlockCache::PageOf(*overlap.node) * kKvPageRows, *page * kKvPageRows, overlap.rows});
    }
  }
}

void SequenceRun::CachePages(std::size_t index) {
  Part& part = parts_[index];
  BlockCache::Node* parent = part.is_shared ? ParentOf(index) : nullptr;
  for (std::size_t k = 0; k < part.pages.size() && parent != nullptr; ++k) {
    Page& page = part.pages[k];
    const auto begin = static_cast<std::int32_t>(k) * kKvPageRows;
    const std::int32_t rows = std::min(part.rows() - begin, kKvPageRows);
    if (page.node == nullptr && part.stored < begin + rows) {
      return;  // Not yet.
    }
    if (page.node == nullptr) {
      const auto tokens =
          std::span(part.tokens)
              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rows));
      const std::int32_t position = part.segment.first_position + begin;
      // Somebody else may have computed the same in the meantime: see ReturnTwins.
      page.node = cache_.HoldChild(*parent, position, tokens);
      if (page.node == nullptr) {
        page.node = cache_.Insert(*parent, position, tokens, page.page);
        page.is_own = false;
      } else {
        has_twins_ = true;
      }
    }
    parent = page.node;
  }
}

void SequenceRun::ReturnTwins() {
  if (!std::exchange(has_twins_, false)) {
    return;
  }
  for (Part& part : parts_) {
    for (Page& page : part.pages) {
      if (page.is_own && page.node != nullptr) {
        cache_.ReturnPage(page.page);
        page = {BlockCache::PageOf(*page.node), page.node, false};
      }
    }
  }
}

void SequenceRun::ReleasePart(Part& part) {
  for (const Page& page : part.pages) {
    if (page.node != nullptr) {
      cache_.Release(*page.node);
    }
    if (page.is_own) {
      cache_.ReturnPage(page.page);
    }
  }
  part.pages.clear();
}

void SequenceRun::ReleaseOverlaps() {
  for (Part& part : parts_) {
    if (part.overlap.node != nullptr) {
      cache_.Release(*std::exchange(part.overlap, {}).node);
    }
  }
}

void SequenceRun::ReleasePages() {
  ReleaseOverlaps();
  // Those that continue others first, so that a node that nobody holds has none that is held.
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    std::reverse(part->pages.begin(), part->pages.end());
    ReleasePart(*part);
    const bool is_over = !part->is_shared && !part->is_answered && part->reads.empty();
    part->stored = is_over && part->stored == part->rows() ? part->rows() : 0;
  }
  for (const std::int32_t page : std::exchange(reserve_, {})) {
    cache_.ReturnPage(page);
  }
  for (BlockCache::Node* source : std::exchange(sources_, {})) {
    cache_.Release(*source);
  }
  if (root_ != nullptr) {
    cache_.Release(*std::exchange(root_, nullptr));
  }
  is_open_ = false;
  is_prompt_stored_ = false;
}

void SequenceRun::ReturnPagesIfOver(std::size_t chain) {
  for (std::size_t i = chain; i < ChainEnd(chain); ++i) {
    const Part& part = parts_[i];
    if (part.is_shared || part.is_answered || part.is_left()) {
      return;
    }
  }
  for (std::size_t i = chain; i < ChainEnd(chain); ++i) {
    for (const Page& page : std::exchange(parts_[i].pages, {})) {
      reserve_.push_back(page.page);
    }
  }
}

}  // namespace scorecast::coordinator
