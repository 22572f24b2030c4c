#include "coordinator/schedule/queue/expected_pages.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace scorecast::coordinator {

void ExpectedPages::Add(const Entry& entry, std::span<const std::uint64_t> pages) {
  for (const std::uint64_t name : pages) {
    Page& page = pages_[name];
    ++page.sequences;
    if (!page.owner) {
      page.owner = entry;
    }
  }
}

void ExpectedPages::Remove(const Entry& entry, std::span<const std::uint64_t> pages) {
  for (const std::uint64_t name : pages) {
    const auto page = pages_.find(name);
    if (--page->second.sequences == 0) {
      pages_.erase(page);
      left_over_.erase(name);
    } else if (page->second.owner == entry) {
      page->second.owner.reset();
    }
  }
}

void ExpectedPages::Drop(const Entry& entry, std::span<const std::uint64_t> pages) {
  std::vector<std::uint64_t> own;
  std::ranges::copy_if(pages, std::back_inserter(own),
                       [&](std::uint64_t name) { return pages_.at(name).owner == entry; });
  Remove(entry, pages);
  std::ranges::copy_if(own, std::inserter(left_over_, left_over_.end()),
                       [&](std::uint64_t name) { return pages_.contains(name); });
}

bool ExpectedPages::TakeLeftOver(const Entry& entry, std::span<const std::uint64_t> pages) {
  bool has_any = false;
  for (const std::uint64_t name : pages) {
    if (left_over_.erase(name) > 0) {
      pages_.at(name).owner = entry;
      has_any = true;
    }
  }
  return has_any;
}

bool ExpectedPages::IsOfAnother(const Entry& entry, std::uint64_t page) const {
  const auto found = pages_.find(page);
  return found != pages_.end() && found->second.owner && *found->second.owner != entry;
}

}  // namespace scorecast::coordinator
