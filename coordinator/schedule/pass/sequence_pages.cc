#include "coordinator/schedule/pass/sequence_pages.h"

#include <algorithm>
#include <span>
#include <utility>

#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
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

void SequencePages::Open(bool look_up) {
  if (!cache_.is_enabled()) {
    return;
  }
  root_ = cache_.HoldRoot(salt_);
  if (!look_up) {
    return;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].is_shared) {
      Match(i);
    }
  }
  // A read of a stored row computes that row, and those after it in its page, once more. A sequence
  // that takes several passes cannot count on a pass with room for all of these, so it then uses no
  // hits from that page on.
  if (takes_several_passes_) {
    ReleaseStoredRowsToRead();
  }
}

void SequencePages::Match(std::size_t index) {
  const SequencePart& part = parts_[index];
  Held& held = held_[index];
  BlockCache::Node* parent = ParentOf(index);
  while (parent != nullptr && held.stored < part.rows()) {
    const std::int32_t position = part.segment.first_position + held.stored;
    const auto page_tokens =
        part.CopiedTokens(held.stored, std::min(part.rows(), held.stored + kKvPageRows));
    BlockCache::Node* node = cache_.HoldChild(*parent, position, page_tokens);
    if (node == nullptr) {
      held.overlap = cache_.HoldLongestOverlap(*parent, position, page_tokens);
      return;
    }
    held.pages.push_back({BlockCache::PageOf(*node), node, false});
    held.stored += static_cast<std::int32_t>(page_tokens.size());
    parent = node;
  }
}

void SequencePages::ReleaseStoredRowsToRead() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto& reads = parts_[i].reads;  // In order of their rows.
    if (!reads.empty() && reads.front().row < held_[i].stored &&
        reads.front().row + 1 < parts_[i].rows()) {
      return ReleaseHits(i, static_cast<std::size_t>(reads.front().row / kKvPageRows));
    }
  }
}

void SequencePages::ReleaseHits(std::size_t first_part, std::size_t first_page) {
  ReleaseOverlaps();
  for (std::size_t i = parts_.size(); i-- > first_part;) {
    if (!parts_[i].is_shared) {
      continue;  // It was not looked up.
    }
    Held& held = held_[i];
    const std::size_t kept = i == first_part ? first_page : 0;
    while (held.pages.size() > kept) {
      cache_.Release(*held.pages.back().node);
      held.pages.pop_back();
    }
    held.stored = static_cast<std::int32_t>(kept) * kKvPageRows;
  }
}

std::int64_t SequencePages::MissingPages() const {
  std::int64_t missing = 0;
  // Chains that no other row sees are computed one after the other, in the same pages. Only the one
  // under way counts, or else the longest.
  std::int64_t longest_unseen = 0;
  std::optional<std::int64_t> unseen_under_way;
  for (std::size_t begin = 0; begin < parts_.size(); begin = ChainEnd(parts_, begin)) {
    std::int64_t missing_in_chain = 0;
    bool has_pages = false;
    for (std::size_t i = begin; i < ChainEnd(parts_, begin); ++i) {
      const SequencePart& part = parts_[i];
      const Held& held = held_[i];
      has_pages = has_pages || !held.pages.empty();
      if (part.must_be_kept && (held.stored < part.rows() || !held.pages.empty())) {
        missing_in_chain += KvPages(part.rows()) - static_cast<std::int64_t>(held.pages.size());
      }
    }
    if (parts_[begin].is_shared || parts_[begin].is_growing) {
      missing += missing_in_chain;
    } else if (has_pages) {
      unseen_under_way = missing_in_chain;
    } else {
      longest_unseen = std::max(longest_unseen, missing_in_chain);
    }
  }
  return missing + unseen_under_way.value_or(longest_unseen) -
         static_cast<std::int64_t>(reserve_.size());
}

bool SequencePages::Reserve(std::int64_t spare_pages) {
  const std::int64_t missing = takes_several_passes_ ? MissingPages() : 0;
  const auto are_available = [&] {
    return missing <= 0 || missing + spare_pages <= cache_.available_pages();
  };
  if (!are_available()) {
    ReleaseOverlaps();  // The pages held for copying may be the ones that are missing.
  }
  if (!are_available()) {
    return false;
  }
  for (std::int64_t i = 0; i < missing; ++i) {
    reserve_.push_back(cache_.Take().value());
  }
  return true;
}

std::optional<std::int32_t> SequencePages::NewPage(std::size_t index) {
  const SequencePart& part = parts_[index];
  if (takes_several_passes_ && part.must_be_kept) {
    Check(!reserve_.empty(), "pages of a sequence that takes several passes are reserved");
    const std::int32_t page = reserve_.back();
    reserve_.pop_back();
    return page;
  }
  const bool is_worth_caching = part.is_shared && !takes_several_passes_ && root_ != nullptr;
  return is_worth_caching ? cache_.TakeToCache() : std::nullopt;
}

std::optional<std::int32_t> SequencePages::PageOf(std::size_t part, std::size_t index) {
  std::vector<Page>& pages = held_[part].pages;
  if (index == pages.size()) {
    if (const auto page = NewPage(part)) {
      pages.push_back({*page, nullptr, true});
    }
  }
  return index < pages.size() ? std::optional(pages[index].page) : std::nullopt;
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
    const auto page = overlap.rows > 0 ? NewPage(i) : std::nullopt;
    if (page) {
      held.pages.push_back({*page, nullptr, true});
      held.stored += overlap.rows;
      pass.AddCopy(
          {BlockCache::PageOf(*overlap.node) * kKvPageRows, *page * kKvPageRows, overlap.rows});
    }
  }
}

std::int64_t SequencePages::CountLookup(std::int64_t again) {
  std::int64_t asked = 0;
  std::int64_t found = -again;
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
      const auto tokens = part.CopiedTokens(begin, begin + rows);
      const std::int32_t position = part.segment.first_position + begin;
      // Another sequence may have cached the same rows since the lookup.
      page.node = cache_.HoldChild(*parent, position, tokens);
      if (page.node == nullptr) {
        page.node = cache_.Insert(*parent, position, tokens, page.page);
        page.is_own = false;
      } else {
        has_duplicates_ = true;
      }
    }
    parent = page.node;
  }
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
        cache_.Return(page.page);
        page = {BlockCache::PageOf(*page.node), page.node, false};
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
      reserve_.push_back(page.page);
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
        cache_.Return(page->page);
      }
    }
    held.pages.clear();
    const SequencePart& part = parts_[i];
    const bool is_finished = !part.is_shared && !part.is_growing && !is_left(i);
    held.stored = is_finished ? part.rows() : 0;
  }
  for (const std::int32_t page : std::exchange(reserve_, {})) {
    cache_.Return(page);
  }
  ReleaseCopied();
  if (root_ != nullptr) {
    cache_.Release(*std::exchange(root_, nullptr));
  }
}

}  // namespace scorecast::coordinator
