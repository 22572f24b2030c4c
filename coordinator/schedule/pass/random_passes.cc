#include "coordinator/schedule/pass/random_passes.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

/// Most labels of a read if each is a product of its own, and its best tokens.
constexpr std::int64_t kProducts = 1024;
constexpr std::int64_t kTopTokens = 64;

RandomPasses::Pass TakeOf(PassBuilder builder) {
  const PassWork work = builder.work();
  return {std::move(builder).Take(), work};
}

proto::LabelList FirstLabels(std::int64_t count) {
  std::vector<TokenId> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return proto::LabelList(std::move(ids));
}

}  // namespace

RandomPasses::Read RandomPasses::Least() const {
  // A classifier's head has few outputs, of which a rank may have none.
  if (config_.read_head) {
    return {{.first_row = 0}, {}};
  }
  return config_.is_classifier() ? Read{{}, FirstLabels(1)} : Read{{.normalizer = true}, {}};
}

std::vector<RandomPasses::Read> RandomPasses::Larger() const {
  if (config_.read_head) {
    return {};
  }
  const Read products = {{}, FirstLabels(std::min(kProducts, config_.output_size()))};
  if (config_.is_classifier()) {
    return {products};
  }
  const auto top = static_cast<std::int32_t>(std::min(kTopTokens, config_.output_size()));
  return {{{.normalizer = true}, FirstLabels(config_.output_size())},
          products,
          {{.normalizer = true, .top_k = top}, {}},
          {{.normalizer = true,
            .draw = proto::Draw{.count = proto::Draw::kMostTokens},
            .bin_width = proto::MassBins::kMostWidth},
           {}}};
}

RandomPasses::Pass RandomPasses::Make(std::int64_t rows, std::int64_t length) {
  length = std::min(length, config_.max_position_embeddings);
  const Read least = Least();
  PassBuilder builder(limits_);
  while (builder.computed_rows() < rows &&
         Add(std::min(length, rows - builder.computed_rows()), 1, least, builder)) {
  }
  return TakeOf(std::move(builder));
}

RandomPasses::Pass RandomPasses::MakeReads(std::int64_t rows, const Read& read) {
  PassBuilder builder(limits_);
  const std::int64_t bytes = proto::ReadBytes(read.read, read.labels.size(), limits_);
  rows = std::min({rows, config_.max_position_embeddings, builder.reads(),
                   builder.logit_bytes() / std::max<std::int64_t>(bytes, 1)});
  if (rows > 0) {
    Add(rows, rows, read, builder);
  }
  return TakeOf(std::move(builder));
}

bool RandomPasses::Add(std::int64_t length, std::int64_t reads, const Read& read,
                       PassBuilder& builder) {
  const auto rows = static_cast<std::int32_t>(length);
  const bool pools_all = read.read.is_pooled() && limits_.pooled_rows == proto::PooledRows::kAll;
  if (pools_all) {
    reads = length;
  }
  const PassCost cost{.rows = length,
                      .reads = reads,
                      .kv_rows = proto::KvRows(rows),
                      .logit_bytes = (pools_all ? 1 : reads) *
                                     proto::ReadBytes(read.read, read.labels.size(), limits_)};
  if (!cost.FitsInto(builder.room())) {
    return false;
  }
  std::vector<TokenId> tokens(static_cast<std::size_t>(length));
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random_() % static_cast<std::uint64_t>(config_.vocab_size));
  }
  builder.BeginSequence({});
  builder.AddSegment({.compute_end = rows, .kv = builder.TakePlaces(rows)}, {tokens});
  for (std::int64_t left = reads; left > 0; --left) {
    const std::int64_t row = builder.computed_rows() - left;
    if (pools_all && left < reads) {
      builder.AddPooledRow(row, /*goes_on=*/false);
    } else if (read.read.is_pooled()) {
      builder.AddPooledRead(row, {});
    } else {
      builder.AddRead(row, read.read, read.labels);
    }
  }
  return true;
}

}  // namespace scorecast::coordinator
