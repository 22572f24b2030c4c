#include "shard/linear/onednn_product.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include <omp.h>

#include "shard/linear/gemm_backend.h"

namespace scorecast::shard {
namespace {

using DataType = dnnl::memory::data_type;

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// Makes oneDNN use one thread for each call, because our own pool distributes the work. The
/// setting is per calling thread.
void WorkAlone() { omp_set_num_threads(1); }

DataType InputType(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return DataType::f32;
    case Precision::kBfloat16:
      return DataType::bf16;
    case Precision::kInt8:
      return DataType::u8;
  }
  return DataType::undef;
}

DataType WeightType(Precision precision) {
  return precision == Precision::kInt8 ? DataType::s8 : InputType(precision);
}

/// Sample numbers in a precision, as raw bytes.
std::vector<std::byte> Samples(Precision precision, std::int64_t count) {
  const std::vector<float> numbers = SampleNumbers(count);
  const auto size = static_cast<std::size_t>(ElementSize(precision));
  std::vector<std::byte> bytes(numbers.size() * size);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    // The upper two bytes of a float are a bfloat16. For int8, any byte of its mantissa will do.
    const auto* number = reinterpret_cast<const std::byte*>(&numbers[i]);
    const std::size_t skip = precision == Precision::kInt8 ? 1 : sizeof(float) - size;
    std::copy_n(number + skip, size, bytes.data() + i * size);
  }
  return bytes;
}

/// The products of a row of bytes with `width` rows of signed bytes, as the bits of the sums.
std::vector<std::uint32_t> ExactSums(const std::byte* x, const std::byte* weights,
                                     std::int64_t width, std::int64_t in) {
  std::vector<std::uint32_t> sums;
  for (std::int64_t output = 0; output < width; ++output, weights += in) {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      sum += static_cast<std::uint32_t>(std::to_integer<std::int32_t>(x[i]) *
                                        static_cast<std::int8_t>(weights[i]));
    }
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

OneDnnProduct::OneDnnProduct(Precision precision, std::int64_t width, std::int64_t in, int threads)
    : precision_(precision), width_(width), in_(in) {
  WorkAlone();
  try {
    MakeAll(threads);
    is_usable_ = PassesSelfCheck();
  } catch (const dnnl::error&) {
    // oneDNN has no kernel for this shape: is_usable_ stays false.
  }
}

void OneDnnProduct::MakeAll(int threads) {
  for (std::int64_t rows = kRowGranule; rows <= kMostTileRows; rows += kRowGranule) {
    made_.push_back(Make(rows, threads));
  }
  for (std::int64_t rows = kRowGranule / 2; rows >= 1; rows /= 2) {
    try {
      made_.insert(made_.begin(), Make(rows, threads));
    } catch (const dnnl::error&) {
      // This primitive is not needed: the one for kRowGranule rows serves instead.
    }
  }
}

OneDnnProduct::OfRows OneDnnProduct::Make(std::int64_t rows, int threads) {
  const DataType result = precision_ == Precision::kInt8 ? DataType::s32 : DataType::f32;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR > 2 || DNNL_VERSION_MINOR >= 5
  // ONEDNN_DEFAULT_FPMATH_MODE in the environment must not let float32 be rounded to bfloat16.
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
#endif
  const dnnl::memory::desc x({rows, in_}, InputType(precision_), dnnl::memory::format_tag::ab);
  const dnnl::memory::desc y({rows, width_}, result, dnnl::memory::format_tag::ab);
  const dnnl::memory::desc weight =
      made_.empty()
          ? dnnl::memory::desc({width_, in_}, WeightType(precision_), dnnl::memory::format_tag::any)
          : weight_desc_;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::inner_product_forward::primitive_desc description(
      Engine(), dnnl::prop_kind::forward_inference, x, weight, y, attributes);
#else
  const dnnl::inner_product_forward::primitive_desc description(
      {dnnl::prop_kind::forward_inference, x, weight, y}, attributes, Engine());
#endif
  const std::string kernel = description.impl_info_str();
  if (made_.empty()) {
    kernel_ = kernel;
    weight_desc_ = description.weights_desc();
  }
  if (!kernel.starts_with("brg")) {  // "brgemm:" or, since oneDNN 3.3, "brg_matmul:".
    throw dnnl::error(dnnl_unimplemented, "no kernel whose rows keep their bits");
  }
  OfRows made = {.rows = rows, .primitive = dnnl::inner_product_forward(description), .slots = {}};
  for (int thread = 0; thread < threads; ++thread) {
    Slot& slot = made.slots.emplace_back();
    slot.x = dnnl::memory(x, Engine(), DNNL_MEMORY_NONE);
    slot.y = dnnl::memory(y, Engine(), DNNL_MEMORY_NONE);
    slot.arguments = {{DNNL_ARG_SRC, slot.x},
                      {DNNL_ARG_DST, slot.y},
                      {DNNL_ARG_SCRATCHPAD, dnnl::memory(description.scratchpad_desc(), Engine())}};
  }
  return made;
}

bool OneDnnProduct::PassesSelfCheck() {
  // Sixteen different rows, computed at different places in products of every height.
  const auto row_bytes = static_cast<std::size_t>(in_ * ElementSize(precision_));
  const std::vector<std::byte> rows = Samples(precision_, kRowGranule * in_);
  const std::vector<std::byte> weight_rows = Samples(precision_, width_ * in_);
  std::vector<std::byte> packed(static_cast<std::size_t>(packed_bytes()));
  const dnnl::memory weight = Pack(weight_rows.data(), packed.data());
  std::vector<std::byte> x(static_cast<std::size_t>(kMostTileRows) * row_bytes);
  std::vector<std::uint32_t> y(static_cast<std::size_t>(kMostTileRows * width_));
  const auto width = static_cast<std::size_t>(width_);
  const auto row_at = [](std::int64_t place, std::int64_t turn) {
    return static_cast<std::size_t>((place * 5 + turn) % kRowGranule);
  };
  const auto compute = [&](std::int64_t height, std::int64_t turn) {
    for (std::int64_t place = 0; place < height; ++place) {
      std::copy_n(rows.data() + row_at(place, turn) * row_bytes, row_bytes,
                  x.data() + static_cast<std::size_t>(place) * row_bytes);
    }
    Multiply(x.data(), height, weight, y.data(), 0);
  };
  compute(kRowGranule, 0);
  std::vector<std::uint32_t> expected(static_cast<std::size_t>(kRowGranule) * width);
  for (std::int64_t place = 0; place < kRowGranule; ++place) {
    std::copy_n(y.data() + static_cast<std::size_t>(place) * width, width,
                expected.data() + row_at(place, 0) * width);
  }
  // All rows have the same kernel, so one of them shows whether it saturates.
  if (precision_ == Precision::kInt8 &&
      !std::ranges::equal(std::span(expected).first(width),
                          ExactSums(rows.data(), weight_rows.data(), width_, in_))) {
    return false;
  }
  const auto keeps_bits = [&](std::int64_t height, std::int64_t turn) {
    compute(height, turn);
    for (std::int64_t place = 0; place < height; ++place) {
      if (!std::equal(expected.data() + row_at(place, turn) * width,
                      expected.data() + (row_at(place, turn) + 1) * width,
                      y.data() + static_cast<std::size_t>(place) * width)) {
        return false;
      }
    }
    return true;
  };
  // Primitives for fewer rows than a granule are tried with every row at every place.
  std::vector<std::int64_t> others;
  for (const OfRows& few : made_) {
    for (std::int64_t turn = 0; few.rows < kRowGranule && turn < kRowGranule; ++turn) {
      if (!keeps_bits(few.rows, turn)) {
        others.push_back(few.rows);
        break;
      }
    }
  }
  std::erase_if(made_, [&](const OfRows& few) { return std::ranges::count(others, few.rows) > 0; });
  return std::ranges::all_of(made_, [&](const OfRows& of_rows) {
    return of_rows.rows < kRowGranule || keeps_bits(of_rows.rows, 3);
  });
}

std::vector<std::int64_t> OneDnnProduct::Heights() const {
  std::vector<std::int64_t> heights;
  for (const OfRows& of_rows : made_) {
    heights.push_back(of_rows.rows);
  }
  return heights;
}

dnnl::memory OneDnnProduct::Pack(const void* rows, std::byte* to) const {
  WorkAlone();
  dnnl::memory plain({{width_, in_}, WeightType(precision_), dnnl::memory::format_tag::ab},
                     Engine(), const_cast<void*>(rows));
  dnnl::memory packed(weight_desc_, Engine(), to);
  dnnl::stream stream(Engine());
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  return packed;
}

void OneDnnProduct::Multiply(const void* x, std::int64_t rows, const dnnl::memory& weight, void* y,
                             int thread) const {
  WorkAlone();
  const OfRows& of_rows = *std::ranges::lower_bound(made_, rows, {}, &OfRows::rows);
  Slot& slot = of_rows.slots[static_cast<std::size_t>(thread)];
  slot.x.set_data_handle(const_cast<void*>(x));
  slot.y.set_data_handle(y);
  slot.arguments[DNNL_ARG_WEIGHTS] = weight;
  thread_local dnnl::stream stream(Engine());
  of_rows.primitive.execute(stream, slot.arguments);
}

}  // namespace scorecast::shard
