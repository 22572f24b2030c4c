#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace scorecast::shard {

/// Zeroed pages from the system. If they fill a huge page, they begin at the border of one. A page
/// takes memory only when it is first used, so a buffer made for the largest case costs no more
/// than the part that is used.
class PageBlock {
 public:
  PageBlock() = default;
  /// Throws StartupError if the system lacks the address space or the memory.
  explicit PageBlock(std::size_t bytes);
  ~PageBlock();
  PageBlock(PageBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageBlock& operator=(PageBlock&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  void* data() const { return data_; }

  /// Lets the system use larger pages, which helps memory that is read from end to end repeatedly.
  /// Called before a page is used. Bytes at the end that do not fill a huge page stay in small
  /// pages.
  void PreferHugePages() const;

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A page-aligned, zeroed array.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) : pages_(Bytes(size)), size_(size) {}

  T* data() { return static_cast<T*>(pages_.data()); }
  const T* data() const { return static_cast<const T*>(pages_.data()); }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {data(), size_}; }
  void PreferHugePages() const { pages_.PreferHugePages(); }

 private:
  /// If the bytes overflow size_t, returns its largest value, which no system can allocate.
  static constexpr std::size_t Bytes(std::size_t size) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    return size > kMost / sizeof(T) ? kMost : size * sizeof(T);
  }

  PageBlock pages_;
  std::size_t size_ = 0;
};

}  // namespace scorecast::shard
