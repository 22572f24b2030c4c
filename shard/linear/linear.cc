#include "shard/linear/linear.h"

#include <algorithm>
#include <utility>

namespace scorecast::shard {

Linear::Linear(GemmBackend& backend, AlignedBuffer<float> weight, std::int64_t out, std::int64_t in)
    : out_(out), in_(in) {
  if (out > 0 && in > 0) {
    weight_ = backend.Pack(std::move(weight), out, in);
  }
}

void Linear::Forward(Rows<const float> x, std::int64_t rows, Rows<float> y,
                     ThreadPool& pool) const {
  if (weight_ == nullptr) {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::fill_n(y[row], out_, 0.0F);
    }
    return;
  }
  const std::int64_t padded = RoundUpRows(rows);
  const std::int64_t height = weight_->max_panel_rows();
  const std::int64_t width = weight_->column_grain();
  const std::int64_t panels = (padded + height - 1) / height;
  const std::int64_t stripes = (out_ + width - 1) / width;
  pool.ParallelFor(panels * stripes, [&](std::int64_t task, int) {
    // Stripe by stripe, so that neighbours in time share a part of the weight.
    const std::int64_t row = task % panels * height;
    const std::int64_t column = task / panels * width;
    weight_->Multiply({x[row], x.stride}, std::min(height, padded - row),
                      {column, std::min(column + width, out_)}, {y[row], y.stride});
  });
}

}  // namespace scorecast::shard
