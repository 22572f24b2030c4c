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

/// Blocks of at least this size are mapped by themselves, and given back when they are freed. So is
/// more than this at the end of an arena, which malloc_trim leaves in all arenas but the first.
/// glibc by itself raises both limits to 32 and 64 MiB after a large block was freed. Measured with
/// a frame of 16 MB of token ids: of a process of 42 MB that grew to 190, 88 stay with malloc_trim
/// alone and 48 with these limits.
constexpr int kMappedBytes = 4 << 20;

void LimitWhatIsKept() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
  mallopt(M_TRIM_THRESHOLD, kMappedBytes);
#endif
}

void GiveBack() {
#ifdef __GLIBC__
  malloc_trim(0);  // Of every arena.
#endif
}

}  // namespace

MemoryReturn::MemoryReturn(asio::any_io_executor executor)
    : timer_(asio::make_strand(std::move(executor))) {
  LimitWhatIsKept();
}

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
