#pragma once

#include <cstddef>
#include <utility>

namespace scorecast::proto {

/// Zeroed pages of this process, touched only when used: they may be made for the largest case.
class PrivatePages {
 public:
  PrivatePages() = default;
  /// Throws StartupError where the system has no address space or memory for it.
  explicit PrivatePages(std::size_t bytes);
  ~PrivatePages();
  PrivatePages(PrivatePages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PrivatePages& operator=(PrivatePages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace scorecast::proto
