// Arrays that end with a page behind which nothing may be read or written. AddressSanitizer does
// not see the masked loads and stores of the kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace page_end_test {

using testing::RandomFloats;

/// A page of memory that is followed by one without access.
class Page {
 public:
  Page()
      : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        begin_(static_cast<std::byte*>(
            mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(begin_, MAP_FAILED);
    EXPECT_EQ(mprotect(begin_ + size_, size_, PROT_NONE), 0);
  }
  ~Page() { munmap(begin_, 2 * size_); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// The last `n` numbers of the page.
  template <typename T>
  T* Last(std::int64_t n) {
    return reinterpret_cast<T*>(begin_ + size_ - static_cast<std::size_t>(n) * sizeof(T));
  }

  /// The last numbers of the page, which get these values.
  template <typename T>
  T* Put(const std::vector<T>& values) {
    T* last = Last<T>(static_cast<std::int64_t>(values.size()));
    std::ranges::copy(values, last);
    return last;
  }

 private:
  std::size_t size_;
  std::byte* begin_;
};

class PageEnd : public KernelsTest {
 protected:
  float* Floats(Page& page, std::int64_t n) { return page.Put(RandomFloats(random_, n)); }

  static constexpr std::int64_t kLongest = 140;  // More than two unrolled steps of 64.
  std::mt19937 random_{3};
  Page pages_[4];
};

TEST_P(PageEnd, IsTheEndOfRows) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    float* a = Floats(pages_[0], n);
    float* b = Floats(pages_[1], n);
    float* out = Floats(pages_[2], n);
    kernels_.rms_norm(a, b, n, 1e-5F, out);
    kernels_.add(a, n, out);
    kernels_.silu.gated(a, b, n, out);
    kernels_.gelu_tanh.gated(a, b, n, out);
    kernels_.gelu.gated(a, b, n, out);
    kernels_.relu.gated(a, b, n, out);
    kernels_.gelu.plain(a, n, out);
    kernels_.layer_norm(a, b, nullptr, n, 1e-5F, out);
    kernels_.layer_norm(a, b, Floats(pages_[3], n), n, 1e-5F, out);
    kernels_.soft_cap(3, n, out);
    EXPECT_NE(kernels_.dot(a, b, n), 0);
    float maximum = 0;
    double sum_exp = 0;
    kernels_.max_and_sum_exp(a, n, &maximum, &sum_exp);
    EXPECT_GE(sum_exp, 0.99);
    kernels_.rope(a, b, 2 * n, Floats(pages_[2], 2 * n));
    kernels_.rotate(out, n);
  }
}

TEST_P(PageEnd, IsTheEndOfRoundedRows) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    float* x = Floats(pages_[0], n);
    kernels_.to_bf16(x, n, pages_[1].Last<std::uint16_t>(n));
    kernels_.add_bf16(pages_[1].Last<std::uint16_t>(n), n, x);
    EXPECT_GT(kernels_.quantize(x, n, pages_[1].Last<std::uint8_t>(n)), 0);
    const std::vector<std::int32_t> ints(static_cast<std::size_t>(n), 5);
    kernels_.dequantize(pages_[1].Put(ints), pages_[2].Put(ints), x, 2, n,
                        pages_[3].Last<float>(n));
  }
}

TEST_P(PageEnd, IsTheEndOfQueriesKeysAndValues) {
  for (const AttentionKernels* kernels : {&kernels_.attention_f32, &kernels_.attention_bf16}) {
    for (std::int64_t n = 2; n <= kLongest; n += 2) {
      const std::int64_t stride = (n + kKeyLanes - 1) / kKeyLanes * kKeyLanes;
      const float* x = Floats(pages_[0], n);
      kernels->store_query(x, 0.5F, n, pages_[1].Last<std::byte>(n * kernels->query_size));
      std::vector<std::byte> group(
          static_cast<std::size_t>(kKeyLanes * stride * kernels->element_size));
      for (int row = 0; row < kKeyLanes; ++row) {
        kernels->store_key(x, n, row, group.data());
        kernels->store_value(x, n, row, stride, group.data());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PageEnd, ::testing::ValuesIn(UsableKernelSets()), KernelSetName);

}  // namespace page_end_test
}  // namespace scorecast::shard
