#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <dnnl.hpp>
#include <omp.h>

#include "bench/roofline/random_bytes.h"
#include "bench/roofline/raw_gemms.h"
#include "bench/roofline/weight_rings.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::bench {
namespace {

using DataType = dnnl::memory::data_type;

constexpr std::int64_t kMostRows = 128;
constexpr std::int64_t kOutputs = 256;
/// Every panel except the last has a multiple of this many rows.
constexpr std::int64_t kRowGrain = 16;

constexpr std::int64_t RoundUp(std::int64_t n, std::int64_t grain) {
  return (n + grain - 1) / grain * grain;
}

struct DataTypes {
  DataType x;
  DataType w;
  DataType y;
};

DataTypes DataTypesOf(const std::string& dtype) {
  if (dtype == "f32") {
    return {DataType::f32, DataType::f32, DataType::f32};
  }
  if (dtype == "bf16") {
    return {DataType::bf16, DataType::bf16, DataType::f32};
  }
  return {DataType::u8, DataType::s8, DataType::s32};
}

/// A panel of rows times a stripe of outputs. Its result [rows, width] is contiguous, because the
/// library has no fast kernel for a result with gaps between its rows.
struct Task {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t width = 0;

  auto operator<=>(const Task&) const = default;
};

dnnl::inner_product_forward::primitive_desc Describe(const dnnl::engine& engine,
                                                     const DataTypes& types, const Task& task,
                                                     const dnnl::memory::desc& weights) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::memory::desc x({task.rows, task.in}, types.x, dnnl::memory::dims{task.in, 1});
  const dnnl::memory::desc y({task.rows, task.width}, types.y, dnnl::memory::dims{task.width, 1});
#if DNNL_VERSION_MAJOR >= 3
  return {engine, dnnl::prop_kind::forward_inference, x, weights, y, attributes};
#else
  return {{dnnl::prop_kind::forward_inference, x, weights, y}, attributes, engine};
#endif
}

/// Weights [width, in] in the layout that the library chooses for the task.
dnnl::memory::desc AnyLayout(const DataTypes& types, const Task& task) {
  return {{task.width, task.in}, types.w, dnnl::memory::format_tag::any};
}

/// One thread's primitives and the memory objects of their arguments. Each is made once.
class Executor {
 public:
  Executor(const dnnl::engine& engine, const DataTypes& types)
      : engine_(engine), stream_(engine), types_(types) {}

  void Multiply(const Task& task, void* x, const dnnl::memory& w, void* y) {
    const auto found = bound_.find(task);
    Bound& bound = found != bound_.end() ? found->second : Bind(task, w.get_desc());
    bound.arguments[DNNL_ARG_SRC].set_data_handle(x);
    bound.arguments[DNNL_ARG_WEIGHTS] = w;
    bound.arguments[DNNL_ARG_DST].set_data_handle(y);
    bound.primitive.execute(stream_, bound.arguments);
  }

 private:
  struct Bound {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  Bound& Bind(const Task& task, const dnnl::memory::desc& weights) {
    const auto description = Describe(engine_, types_, task, weights);
    Bound bound;
    bound.primitive = dnnl::inner_product_forward(description);
    bound.arguments = {{DNNL_ARG_SRC, {description.src_desc(), engine_, nullptr}},
                       {DNNL_ARG_WEIGHTS, {}},
                       {DNNL_ARG_DST, {description.dst_desc(), engine_, nullptr}},
                       {DNNL_ARG_SCRATCHPAD, {description.scratchpad_desc(), engine_}}};
    return bound_.emplace(task, std::move(bound)).first->second;
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  DataTypes types_;
  std::map<Task, Bound> bound_;
};

class OneDnnGemms : public RawGemms {
 public:
  OneDnnGemms(const std::string& dtype, shard::ThreadPool& pool)
      : dtype_(dtype),
        types_(DataTypesOf(dtype)),
        pool_(pool),
        engine_(dnnl::engine::kind::cpu, 0),
        kernel_(DescribeTallest(1024, kOutputs).impl_info_str()) {
    for (int t = 0; t < pool.threads(); ++t) {
      executors_.emplace_back(engine_, types_);
    }
  }

  const std::string& kernel() const { return kernel_; }

  std::string Description() const override {
    const dnnl::version_t& version = *dnnl::version();
    return "oneDNN " + std::to_string(version.major) + '.' + std::to_string(version.minor) + '.' +
           std::to_string(version.patch) + ' ' + kernel_;
  }

  double Run(const std::vector<Product>& products) override {
    weights_.Prepare(products,
                     [this](std::int64_t out, std::int64_t in) { return MakeStripes(out, in); });
    for (const Product& product : products) {
      const auto x_bytes = static_cast<std::size_t>(product.rows * product.in) * SizeOf(dtype_);
      if (input_.size() < x_bytes) {
        input_ = shard::AlignedBuffer<std::byte>(x_bytes);
        FillRandom(dtype_, {input_.data(), x_bytes});
      }
      const auto y_bytes = static_cast<std::size_t>(product.rows * product.out) * sizeof(float);
      if (output_.size() < y_bytes) {
        output_ = shard::AlignedBuffer<std::byte>(y_bytes);
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    for (const Product& product : products) {
      Multiply(product, weights_.Next(product));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  using Stripes =
      std::vector<dnnl::memory>;  // Packed [kOutputs, in]; the last may have fewer outputs.

  dnnl::inner_product_forward::primitive_desc DescribeTallest(std::int64_t in, std::int64_t width) {
    const Task task{kMostRows, in, width};
    return Describe(engine_, types_, task, AnyLayout(types_, task));
  }

  Stripes MakeStripes(std::int64_t out, std::int64_t in) {
    Stripes stripes;
    for (std::int64_t column = 0; column < out; column += kOutputs) {
      // The library chooses the same layout for every number of rows from 16 up.
      const dnnl::memory::desc layout =
          DescribeTallest(in, std::min(kOutputs, out - column)).weights_desc();
      stripes.emplace_back(layout, engine_);
      FillRandom(dtype_,
                 {static_cast<std::byte*>(stripes.back().get_data_handle()), layout.get_size()});
    }
    return stripes;
  }

  void Multiply(const Product& product, const Stripes& stripes) {
    const std::int64_t panels = (product.rows + kMostRows - 1) / kMostRows;
    const std::int64_t height = RoundUp((product.rows + panels - 1) / panels, kRowGrain);
    const auto count = static_cast<std::int64_t>(stripes.size());
    pool_.ParallelFor(panels * count, [&](std::int64_t i, int thread) {
      // The library must not start threads of its own.
      omp_set_num_threads(1);
      // Stripe by stripe, so that tasks that run at the same time share a part of the weight.
      const std::int64_t row = i % panels * height;
      const std::int64_t column = i / panels * kOutputs;
      const Task task{std::min(height, product.rows - row), product.in,
                      std::min(kOutputs, product.out - column)};
      if (task.rows > 0) {
        executors_[static_cast<std::size_t>(thread)].Multiply(
            task, input_.data() + row * product.in * static_cast<std::int64_t>(SizeOf(dtype_)),
            stripes[static_cast<std::size_t>(i / panels)],
            output_.data() + (row * product.out + column * task.rows) *
                                 static_cast<std::int64_t>(sizeof(float)));
      }
    });
  }

  const std::string dtype_;
  const DataTypes types_;
  shard::ThreadPool& pool_;
  dnnl::engine engine_;
  std::string kernel_;
  std::vector<Executor> executors_;  // [threads]
  WeightRings<Stripes> weights_;
  shard::AlignedBuffer<std::byte> input_;
  shard::AlignedBuffer<std::byte> output_;
};

}  // namespace

std::unique_ptr<RawGemms> MakeOneDnnGemms(const std::string& dtype, shard::ThreadPool& pool) {
  try {
    auto gemms = std::make_unique<OneDnnGemms>(dtype, pool);
    // In float32 the library is fast on every x86.
    const bool is_fast = dtype == "f32" || gemms->kernel().starts_with("brgemm");
    return is_fast ? std::move(gemms) : nullptr;
  } catch (const dnnl::error& fault) {
    if (fault.status != dnnl_unimplemented) {
      throw;
    }
    return nullptr;
  }
}

}  // namespace scorecast::bench
