#include "shard/linear/linear.h"

#include <numeric>
#include <utility>

#include "proto/base/check.h"
#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {

void TileScratch::Reserve(std::int64_t columns, std::int64_t tiles) {
  if (columns * tiles > columns_) {
    columns_ = columns * tiles;
    tiles_ = AlignedBuffer<float>(static_cast<std::size_t>(threads_ * kMostTileRows * columns_));
  }
}

void TileScratch::Touch(ThreadPool& pool) {
  TouchPages(std::as_writable_bytes(tiles_.span()), pool);
}

namespace {

std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Linear::Linear(GemmBackend& backend, Precision precision, const WeightSource& source,
               ThreadPool& pool, TileScratch& scratch)
    : starts_({0}), first_groups_({0}), scratch_(&scratch), steps_(1) {
  PackBlocks(backend, precision, {&source, 1}, pool);
}

Linear::Linear(GemmBackend& backend, Precision precision, const std::vector<WeightSource>& blocks,
               std::vector<BlockStep> steps, const Kernels& kernels, ThreadPool& pool,
               TileScratch& scratch)
    : starts_({0}),
      first_groups_({0}),
      scratch_(&scratch),
      steps_(std::move(steps)),
      kernels_(&kernels) {
  proto::Check(blocks.size() == steps_.size(), "every block of inputs has its step");
  PackBlocks(backend, precision, blocks, pool);
}

void Linear::PackBlocks(GemmBackend& backend, Precision precision,
                        std::span<const WeightSource> blocks, ThreadPool& pool) {
  if (blocks.empty()) {
    return;
  }
  for (const std::int64_t width : blocks.front().widths) {
    starts_.push_back(starts_.back() + width);
  }
  group_ = blocks.front().group;
  for (const WeightSource& block : blocks) {
    proto::Check(block.widths == blocks.front().widths, "blocks of inputs have the same chunks");
    in_ += block.in;
  }
  results_ = static_cast<int>(std::ranges::count_if(steps_, &BlockStep::is_result));
  const bool all_have_inputs = std::ranges::all_of(blocks, [](const auto& b) { return b.in > 0; });
  const bool are_blocks = blocks.size() > 1 || blocks.front().is_block;
  if (are_blocks && out_features() > 0 && all_have_inputs) {
    together_ = backend.PackBlocks(precision, blocks, steps_, pool);
  }
  if (together_ != nullptr) {
    group_ = GroupOf(group_, together_->column_granule());
  } else {
    for (const WeightSource& block : blocks) {
      std::unique_ptr<PackedWeight>& weight = weights_.emplace_back();
      if (out_features() > 0 && block.in > 0) {
        weight = backend.Pack(precision, block, pool);
        group_ = GroupOf(group_, weight->column_granule());
      }
    }
  }
  for (const std::int64_t width : blocks.front().widths) {
    scratch_->Reserve(width, MostTiles());
    first_groups_.push_back(first_groups_.back() + 1 + (width - 1) / group_);
  }
}

std::int64_t Linear::MostTiles() const {
  if (together_ != nullptr) {
    return results_;
  }
  // A stack has a tile that is computed, and those that wait.
  std::int64_t tiles = 0;
  std::int64_t waiting = 0;
  for (const BlockStep& step : steps_) {
    tiles = std::max(tiles, ++waiting);
    waiting = step.is_result ? 0 : waiting - step.joins;
  }
  return tiles;
}

std::int64_t Linear::GroupOf(std::int64_t group, std::int64_t granule) {
  const bool is_whole = granule == kWholeChunk || group == kWholeChunk;
  return is_whole ? kWholeChunk : std::lcm(group, granule);
}

Linear::Cut Linear::CutProduct(std::int64_t rows, proto::Range chunks, int threads) const {
  if (rows == 0 || chunks.size() == 0) {
    return {};
  }
  // Tasks of a thread. Several of them even out threads of unequal speed. But every part of the
  // outputs prepares its rows anew, so a product of many rows has more than the fewest tasks only
  // if they remain long.
  constexpr std::int64_t kFewestTasks = 4;
  constexpr std::int64_t kMostTasks = 12;
  // Multiplications and additions of a task: at least some microseconds of work.
  constexpr std::int64_t kSmallestTask = 1 << 15;
  // Those of a long one: a fraction of a millisecond.
  constexpr std::int64_t kLongTask = 1 << 23;
  const auto first = static_cast<std::size_t>(chunks.begin);
  const auto end = static_cast<std::size_t>(chunks.end);
  const std::int64_t size = rows * (starts_[end] - starts_[first]) * in_;
  const std::int64_t most_tasks =
      rows <= kRowGranule
          ? kMostTasks * threads
          : std::clamp(size / kLongTask, kFewestTasks * threads, kMostTasks * threads);
  const std::int64_t wanted = std::clamp<std::int64_t>(size / kSmallestTask, 1, most_tasks);
  Cut cut;
  cut.groups = {first_groups_[first], first_groups_[end]};
  const std::int64_t granules = DivideUp(rows, kRowGranule);
  const std::int64_t least_panels = DivideUp(granules * kRowGranule, kMostTileRows);
  // A part is at most as wide as a chunk, unless a chunk is too little work for a task.
  const std::int64_t of_chunk = DivideUp(cut.groups.size(), chunks.size());
  const std::int64_t of_wanted = cut.groups.size() * least_panels / wanted;
  const std::int64_t of_smallest =
      DivideUp(cut.groups.size() * least_panels * kSmallestTask, std::max<std::int64_t>(size, 1));
  cut.part_groups = std::max({std::min(of_chunk, of_wanted), of_smallest, std::int64_t{1}});
  cut.parts = DivideUp(cut.groups.size(), cut.part_groups);
  const std::int64_t panels = std::max(least_panels, DivideUp(wanted, cut.parts));
  const std::int64_t height = DivideUp(granules, std::min(panels, granules));
  cut.panels = DivideUp(granules, height);
  cut.height = height * kRowGranule;
  return cut;
}

Linear::Columns Linear::TakeFromOneChunk(proto::Range& groups) const {
  const auto next = std::ranges::upper_bound(first_groups_, groups.begin);
  const auto chunk = next - first_groups_.begin() - 1;
  const auto at = static_cast<std::size_t>(chunk);
  const std::int64_t width = starts_[at + 1] - starts_[at];
  const std::int64_t begin = groups.begin - first_groups_[at];
  groups.begin = std::min(*next, groups.end);
  const std::int64_t end = groups.begin - first_groups_[at];
  if (groups.begin == *next) {
    return {chunk, {begin * group_, width}};
  }
  return {chunk, {begin * group_, end * group_}};
}

ProductTile Linear::TileOf(Panel panel, const Columns& columns, float* data) const {
  const std::int64_t start = starts_[static_cast<std::size_t>(columns.chunk)];
  return {.first_row = panel.first_row,
          .rows = panel.rows,
          .columns = {start + columns.range.begin, start + columns.range.end},
          .data = data};
}

void Linear::Multiply(const Activations& x, std::size_t block, const Columns& columns,
                      const ProductTile& tile, int thread) const {
  if (weights_[block] == nullptr) {
    std::fill_n(tile.data, tile.rows * tile.columns.size(), 0.0F);
  } else {
    weights_[block]->Multiply(x, tile.first_row, tile.rows, columns.chunk, columns.range, tile.data,
                              thread);
  }
}

ProductTile Linear::Join(int joins, ProductTile top) const {
  for (; joins > 0; --joins) {
    const float* right = top.data;
    top.data -= SizeOf(top);
    kernels_->add(right, top.rows * top.columns.size(), top.data);
  }
  return top;
}

std::vector<std::int64_t> Chunks(std::int64_t outputs, std::int64_t width) {
  constexpr std::int64_t kNarrow = 16;
  std::vector<std::int64_t> chunks(static_cast<std::size_t>(outputs / width), width);
  const std::int64_t rest = outputs % width;
  if (rest > 0 && rest < kNarrow && !chunks.empty()) {
    chunks.back() += rest;
  } else if (rest > 0) {
    chunks.push_back(rest);
  }
  return chunks;
}

std::int64_t PackedBytes(Precision precision, std::int64_t weight_size, std::int64_t out,
                         std::int64_t in, std::int64_t blocks) {
  // Int8Chunk has a scale and an offset for each output.
  constexpr auto kScaleAndOffset = static_cast<std::int64_t>(sizeof(float) + sizeof(std::int32_t));
  const bool has_scales = precision == Precision::kInt8 && in > 0;
  return out * (in * weight_size + (has_scales ? blocks * kScaleAndOffset : 0));
}

}  // namespace scorecast::shard
