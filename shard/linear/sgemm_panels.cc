#include "shard/linear/sgemm_panels.h"

#include <algorithm>
#include <optional>

#include <cblas.h>

#include "shard/linear/activations.h"
#include "shard/linear/gemm_backend.h"

namespace scorecast::shard {
namespace {

void Sgemm(const float* x, std::int64_t rows, const float* w, std::int64_t columns, std::int64_t in,
           float* y) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(in), 1.0F, x,
              static_cast<blasint>(in), w, static_cast<blasint>(in), 0.0F, y,
              static_cast<blasint>(columns));
}

/// The products of the rows of x, [rows of x, columns], each computed in a panel of `height` rows
/// that repeats this row. Nullopt if a row's bits depend on its place in the panel.
std::optional<std::vector<float>> ResultsInAnyPlace(const std::vector<float>& x,
                                                    const std::vector<float>& w,
                                                    std::int64_t columns, std::int64_t in,
                                                    std::int64_t height) {
  std::vector<float> results;
  std::vector<float> panel(static_cast<std::size_t>(height * in));
  std::vector<float> y(static_cast<std::size_t>(height * columns));
  for (auto row = x.begin(); row != x.end(); row += in) {
    for (std::int64_t place = 0; place < height; ++place) {
      std::copy_n(row, in, panel.begin() + place * in);
    }
    Sgemm(panel.data(), height, w.data(), columns, in, y.data());
    for (std::int64_t place = 1; place < height; ++place) {
      if (!std::equal(y.begin(), y.begin() + columns, y.begin() + place * columns)) {
        return std::nullopt;
      }
    }
    results.insert(results.end(), y.begin(), y.begin() + columns);
  }
  return results;
}

}  // namespace

const std::vector<std::int64_t>& SgemmPanels::Heights(std::int64_t columns, std::int64_t in) {
  const auto [entry, is_new] = checked_.try_emplace({columns, in});
  std::vector<std::int64_t>& heights = entry->second;
  if (!is_new) {
    return heights;
  }
  // Two orders of addition often give the same bits in one sum by chance, but hardly ever in this
  // many sums.
  constexpr std::int64_t kSums = 64;
  const std::vector<float> x = SampleNumbers((kSums + columns - 1) / columns * in);
  const std::vector<float> w = SampleNumbers(columns * in);
  std::int64_t height = kRowGranule;
  std::optional<std::vector<float>> expected = ResultsInAnyPlace(x, w, columns, in, height);
  while (!expected) {  // Ends at the latest with a panel of one row, which has only one place.
    height /= 2;
    expected = ResultsInAnyPlace(x, w, columns, in, height);
  }
  heights.push_back(height);
  for (height *= 2; height <= kMostTileRows; height *= 2) {
    if (ResultsInAnyPlace(x, w, columns, in, height) == expected) {
      heights.insert(heights.begin(), height);
    }
  }
  return heights;
}

std::vector<std::int64_t> SgemmPanels::LowestHeights() const {
  std::vector<std::int64_t> lowest;
  for (const auto& [shape, heights] : checked_) {
    if (lowest.empty() || heights.front() < lowest.back()) {
      lowest.assign(heights.rbegin(), heights.rend());
    }
  }
  return lowest;
}

void SgemmPanels::Multiply(const std::vector<std::int64_t>& heights, const float* x,
                           std::int64_t rows, const float* w, std::int64_t columns, std::int64_t in,
                           float* y) {
  std::int64_t row = 0;
  for (const std::int64_t height : heights) {
    for (; rows - row >= height; row += height) {
      Sgemm(x + row * in, height, w, columns, in, y + row * columns);
    }
  }
}

}  // namespace scorecast::shard
