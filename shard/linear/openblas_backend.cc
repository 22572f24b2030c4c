#include "shard/linear/openblas_backend.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <cblas.h>

namespace scorecast::shard {
namespace {

/// Outputs computed by one call. Wide enough for OpenBLAS to run well, narrow enough that a small
/// layer still makes several tasks.
constexpr std::int64_t kColumns = 256;

/// Rows given to one call, at most.
constexpr std::int64_t kTallestPanel = 256;

/// y [rows, columns] = x [rows, in] · wᵀ, w [columns, in].
void Sgemm(Rows<const float> x, std::int64_t rows, const float* w, std::int64_t columns,
           std::int64_t in, Rows<float> y) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(in), 1.0F, x.data,
              static_cast<blasint>(x.stride), w, static_cast<blasint>(in), 0.0F, y.data,
              static_cast<blasint>(y.stride));
}

/// Numbers in [-1, 1) that exercise every bit of a sum; which ones does not matter.
std::vector<float> SampleNumbers(std::int64_t count) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525U + 1013904223U;
    number = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return numbers;
}

/// Results of some rows of x, each of which in turn fills a panel of `height` rows: [x's rows,
/// columns]. None where a row's bits depend on its place in the panel.
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
    Sgemm({panel.data(), in}, height, w.data(), columns, in, {y.data(), columns});
    for (std::int64_t place = 1; place < height; ++place) {
      if (!std::equal(y.begin(), y.begin() + columns, y.begin() + place * columns)) {
        return std::nullopt;
      }
    }
    results.insert(results.end(), y.begin(), y.begin() + columns);
  }
  return results;
}

class OpenBlasWeight : public PackedWeight {
 public:
  OpenBlasWeight(AlignedBuffer<float> weight, std::int64_t out, std::int64_t in,
                 std::vector<std::int64_t> heights, std::vector<std::int64_t> last_heights)
      : weight_(std::move(weight)),
        out_(out),
        in_(in),
        heights_(std::move(heights)),
        last_heights_(std::move(last_heights)) {}

  std::int64_t max_panel_rows() const override { return kTallestPanel; }
  std::int64_t column_grain() const override { return kColumns; }

  void Multiply(Rows<const float> x, std::int64_t rows, proto::Range columns,
                Rows<float> y) const override {
    for (std::int64_t c = columns.begin; c < columns.end; c += kColumns) {
      const std::int64_t width = std::min(kColumns, out_ - c);
      const std::vector<std::int64_t>& heights = width == kColumns ? heights_ : last_heights_;
      std::int64_t row = 0;
      for (const std::int64_t height : heights) {
        for (; rows - row >= height; row += height) {
          Sgemm({x[row], x.stride}, height, weight_.data() + c * in_, width, in_,
                {y[row] + c, y.stride});
        }
      }
    }
  }

 private:
  AlignedBuffer<float> weight_;  // [out, in]
  std::int64_t out_;
  std::int64_t in_;
  std::vector<std::int64_t> heights_;       // For products of kColumns outputs.
  std::vector<std::int64_t> last_heights_;  // For the last, narrower one.
};

}  // namespace

OpenBlasBackend::OpenBlasBackend() {
  // Our own pool deals out the work.
  openblas_set_num_threads(1);
}

std::string OpenBlasBackend::Description() const {
  return std::string("OpenBLAS ") + openblas_get_corename();
}

const std::vector<std::int64_t>& OpenBlasBackend::PanelHeights(std::int64_t columns,
                                                               std::int64_t in) {
  const auto [entry, is_new] = checked_heights_.try_emplace({columns, in});
  std::vector<std::int64_t>& heights = entry->second;
  if (!is_new) {
    return heights;
  }
  // Two ways of adding often agree in one sum, by chance, but not in so many.
  constexpr std::int64_t kSums = 64;
  const std::vector<float> x = SampleNumbers((kSums + columns - 1) / columns * in);
  const std::vector<float> w = SampleNumbers(columns * in);
  std::int64_t height = kRowGranule;
  std::optional<std::vector<float>> expected = ResultsInAnyPlace(x, w, columns, in, height);
  while (!expected) {  // In a panel of one row there is one place.
    height /= 2;
    expected = ResultsInAnyPlace(x, w, columns, in, height);
  }
  heights.push_back(height);
  for (height *= 2; height <= kTallestPanel; height *= 2) {
    if (ResultsInAnyPlace(x, w, columns, in, height) == expected) {
      heights.insert(heights.begin(), height);
    }
  }
  return heights;
}

std::unique_ptr<PackedWeight> OpenBlasBackend::Pack(AlignedBuffer<float> weight, std::int64_t out,
                                                    std::int64_t in) {
  const std::int64_t last = out % kColumns;
  std::vector<std::int64_t> heights =
      out >= kColumns ? PanelHeights(kColumns, in) : std::vector<std::int64_t>{kRowGranule};
  std::vector<std::int64_t> last_heights =
      last > 0 ? PanelHeights(last, in) : std::vector<std::int64_t>{kRowGranule};
  return std::make_unique<OpenBlasWeight>(std::move(weight), out, in, std::move(heights),
                                          std::move(last_heights));
}

}  // namespace scorecast::shard
