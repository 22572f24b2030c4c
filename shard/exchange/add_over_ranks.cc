#include "shard/exchange/add_over_ranks.h"

#include <algorithm>
#include <cstddef>

#include "proto/base/check.h"

namespace scorecast::shard {

void AddOverRanks(RowExchange& exchange, std::int64_t summand_row_bytes, std::span<float> sums,
                  std::span<float> numbers) {
  if (exchange.ranks() == 1) {
    return;
  }
  proto::Check(exchange.Nodes(0) > 0, "every rank has summands");
  const std::size_t most =
      std::min(static_cast<std::size_t>(summand_row_bytes) / sizeof(float), sums.size());
  const RowSlices owners = exchange.Even(1);
  const std::span<float> sum = sums.first(most);
  const RowPlane plane = {reinterpret_cast<std::byte*>(sum.data()),
                          static_cast<std::int64_t>(sum.size_bytes())};
  while (!numbers.empty()) {
    const std::span<float> row = numbers.first(std::min(numbers.size(), most));
    // One summand is enough. If this rank has several, the others are zero.
    std::byte* summand = exchange.summands();
    for (int node = 0; node < exchange.Nodes(0); ++node, summand += summand_row_bytes) {
      std::ranges::fill_n(reinterpret_cast<float*>(summand), std::ssize(row), 0.0F);
    }
    std::ranges::copy(row, reinterpret_cast<float*>(exchange.summands()));
    exchange.ExchangeSummands(owners, SummandType::kFloat32);
    if (exchange.Own(owners).size() > 0) {
      std::ranges::fill(sum, 0.0F);
      exchange.AddSummands(0, sum.first(row.size()));
    }
    exchange.ShareRows(owners, {&plane, 1});
    std::ranges::copy(sum.first(row.size()), row.begin());
    numbers = numbers.subspan(row.size());
  }
}

}  // namespace scorecast::shard
