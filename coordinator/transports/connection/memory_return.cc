#include "coordinator/transports/connection/memory_return.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// Memory is given back once these many bytes are noted, and at most once in this time. What a
/// request takes is a multiple of its bytes.
constexpr std::int64_t kLeastBytes = std::int64_t{1} << 20;
constexpr auto kDelay = std::chrono::seconds(1);

void GiveBack() {
#ifdef __GLIBC__
  malloc_trim(0);  // Of every arena.
#endif
}

}  // namespace

MemoryReturn::MemoryReturn(asio::any_io_executor executor)
    : timer_(asio::make_strand(std::move(executor))) {}

void MemoryReturn::Note(std::int64_t bytes) {
  const std::int64_t before = noted_.fetch_add(bytes);
  if (before < kLeastBytes && before + bytes >= kLeastBytes) {
    asio::post(timer_.get_executor(), [this] { Wait(); });
  }
}

void MemoryReturn::Wait() {
  timer_.expires_after(kDelay);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) {
      noted_ = 0;
      GiveBack();
    }
  });
}

void MemoryReturn::Stop() {
  // From now on no further Note reaches the limit.
  noted_ = kLeastBytes;
  asio::post(timer_.get_executor(), [this] { timer_.cancel(); });
}

}  // namespace scorecast::coordinator
