#include "shard/exchange/tree_sum.h"

#include <algorithm>
#include <array>

#include "proto/base/check.h"

namespace scorecast::shard {
namespace {

/// Numbers of a row that are added at a time. All their nodes stay in the nearest cache.
constexpr std::int64_t kBlock = 256;
/// No tree over as many leaves as an int can count has more nodes that wait for their sibling.
constexpr std::size_t kMostWaiting = 32;

/// One block of a row, whose parts are pushed from left to right.
class BlockSum {
 public:
  BlockSum(const Kernels& kernels, SummandType type, std::int64_t numbers)
      : kernels_(kernels), type_(type), numbers_(numbers) {}

  void Push(const std::byte* numbers, int joins) {
    nodes_[waiting_++] = numbers;
    for (; joins > 0; --joins) {
      Join();
    }
  }

  /// The root, when all parts are pushed.
  const float* Root() {
    proto::Check(waiting_ <= 2, "the parts of a sum are its tree");
    Add();
    return sum_.data();
  }

  void Store(std::byte* to) const {
    if (type_ == SummandType::kBfloat16) {
      kernels_.to_bf16(sum_.data(), numbers_, reinterpret_cast<std::uint16_t*>(to));
    } else {
      std::copy_n(sum_.data(), numbers_, reinterpret_cast<float*>(to));
    }
  }

 private:
  /// sum_ = the last two nodes, or the only one.
  void Add() {
    const std::size_t first = waiting_ > 1 ? waiting_ - 2 : 0;
    std::fill_n(sum_.data(), numbers_, 0.0F);
    for (std::size_t node = first; node < waiting_; ++node) {
      if (type_ == SummandType::kBfloat16) {
        kernels_.add_bf16(reinterpret_cast<const std::uint16_t*>(nodes_[node]), numbers_,
                          sum_.data());
      } else {
        kernels_.add(reinterpret_cast<const float*>(nodes_[node]), numbers_, sum_.data());
      }
    }
  }

  /// Makes one node of the last two.
  void Join() {
    Add();
    auto* to = reinterpret_cast<std::byte*>(joined_[waiting_ - 2].data());
    Store(to);
    nodes_[waiting_ - 2] = to;
    --waiting_;
  }

  const Kernels& kernels_;
  SummandType type_;
  std::int64_t numbers_;
  std::size_t waiting_ = 0;
  std::array<const std::byte*, kMostWaiting> nodes_;
  std::array<float, kBlock> sum_;
  std::array<std::array<float, kBlock>, kMostWaiting> joined_;
};

/// Calls take(block, begin) with each block of the row and its first number, when the block's parts
/// are pushed.
template <typename Take>
void ForEachBlock(const Kernels& kernels, SummandType type, std::span<const SummandRows> parts,
                  std::int64_t offset, std::int64_t numbers, const Take& take) {
  proto::Check(!parts.empty(), "a sum has parts");
  for (std::int64_t begin = 0; begin < numbers; begin += kBlock) {
    BlockSum block(kernels, type, std::min(kBlock, numbers - begin));
    for (const SummandRows& part : parts) {
      block.Push(part.rows + offset + begin * BytesOf(type), part.joins);
    }
    take(block, begin);
  }
}

}  // namespace

void TreeSum::AddTo(std::span<const SummandRows> parts, std::int64_t offset,
                    std::span<float> sum) const {
  const auto numbers = static_cast<std::int64_t>(sum.size());
  ForEachBlock(*kernels_, type_, parts, offset, numbers, [&](BlockSum& block, std::int64_t begin) {
    kernels_->add(block.Root(), std::min(kBlock, numbers - begin), sum.data() + begin);
  });
}

void TreeSum::WriteNode(std::span<const SummandRows> parts, std::int64_t offset,
                        std::int64_t numbers, std::byte* to) const {
  ForEachBlock(*kernels_, type_, parts, offset, numbers, [&](BlockSum& block, std::int64_t begin) {
    block.Root();
    block.Store(to + begin * BytesOf(type_));
  });
}

}  // namespace scorecast::shard
