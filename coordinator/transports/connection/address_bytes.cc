#include "coordinator/transports/connection/address_bytes.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// This part of the limit is held for short requests beyond it.
constexpr std::int64_t kReservedForShort = 16;

}  // namespace

AddressBook::AddressBook(std::int64_t limit, HeldBytes requests, HeldBytes replies)
    : limit_(limit), requests_(std::move(requests)), replies_(std::move(replies)) {}

std::shared_ptr<AddressBytes> AddressBook::Of(const ClientName& address) {
  if (addresses_.size() >= sweep_at_) {
    Sweep();
  }
  std::shared_ptr<AddressBytes>& bytes = addresses_[address];
  if (bytes == nullptr) {
    bytes = std::make_shared<AddressBytes>(
        AddressBytes{.requests = HeldBytes(limit_, &requests_, limit_ / kReservedForShort),
                     .replies = HeldBytes(limit_, &replies_)});
  }
  return bytes;
}

std::shared_ptr<AddressBytes> AddressBook::OfAll(const HeldBytes& requests,
                                                 const HeldBytes& replies) {
  // The reserve is that of all, so this count has no limit of its own.
  constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
  return std::make_shared<AddressBytes>(AddressBytes{.requests = HeldBytes(kNoLimit, &requests),
                                                     .replies = HeldBytes(kNoLimit, &replies)});
}

void AddressBook::Sweep() {
  std::erase_if(addresses_, [](const auto& one) {
    const std::shared_ptr<AddressBytes>& bytes = one.second;
    return bytes.use_count() == 1 && bytes->requests.bytes() == 0 && bytes->replies.bytes() == 0;
  });
  sweep_at_ = std::max(sweep_at_, 2 * addresses_.size());
}

}  // namespace scorecast::coordinator
