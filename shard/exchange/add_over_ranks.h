#pragma once

#include <cstdint>
#include <span>

#include "shard/exchange/row_exchange.h"

namespace scorecast::shard {

/// Adds up each of the numbers over the ranks, in float32. Collective, with equally many numbers
/// on every rank, between a ShareRows and the next ExchangeSummands. Few numbers are meant: they
/// travel in rows as long as summands, one row at a time.
///
/// `summand_row_bytes` is that of the exchange. `sums` are shared memory of the exchange that has
/// nothing else in it: at least one number, the same on every rank.
void AddOverRanks(RowExchange& exchange, std::int64_t summand_row_bytes, std::span<float> sums,
                  std::span<float> numbers);

}  // namespace scorecast::shard
