#include "shard/linear/linear.h"

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {

void TileScratch::Reserve(std::int64_t columns) {
  if (columns > columns_) {
    columns_ = columns;
    tiles_ = AlignedBuffer<float>(static_cast<std::size_t>(threads_ * kMostTileRows * columns));
  }
}

void TileScratch::Touch(ThreadPool& pool) {
  TouchPages(std::as_writable_bytes(tiles_.span()), pool);
}

Linear::Linear(GemmBackend& backend, Precision precision, const WeightSource& source,
               ThreadPool& pool, TileScratch& scratch)
    : in_(source.in), starts_({0}), scratch_(&scratch) {
  for (const std::int64_t width : source.widths) {
    scratch.Reserve(width);
    starts_.push_back(starts_.back() + width);
  }
  if (out_features() > 0 && in_ > 0) {
    weight_ = backend.Pack(precision, source, pool);
  }
}

Linear::Cut Linear::CutRows(std::int64_t rows, std::int64_t chunks, int threads) {
  if (rows == 0 || chunks == 0) {
    return {};
  }
  const auto divide = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  constexpr std::int64_t kTasksAThread = 12;
  const std::int64_t granules = divide(rows, kRowGranule);
  const std::int64_t wanted = std::max(divide(granules * kRowGranule, kMostTileRows),
                                       divide(kTasksAThread * threads, chunks));
  const std::int64_t height = divide(granules, std::min(wanted, granules));
  return {divide(granules, height), height * kRowGranule};
}

ProductTile Linear::Multiply(const Activations& x, std::int64_t rows, std::int64_t first_row,
                             std::int64_t height, std::int64_t chunk, int thread) const {
  const auto at = static_cast<std::size_t>(chunk);
  const ProductTile tile = {.first_row = first_row,
                            .rows = std::min(height, rows - first_row),
                            .columns = {starts_[at], starts_[at + 1]},
                            .data = scratch_->Of(thread)};
  if (weight_ == nullptr) {
    std::fill_n(tile.data, tile.rows * tile.columns.size(), 0.0F);
  } else {
    weight_->Multiply(x, first_row, tile.rows, chunk, {0, tile.columns.size()}, tile.data, thread);
  }
  return tile;
}

}  // namespace scorecast::shard
