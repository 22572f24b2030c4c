#include "shard/readout/partial_logits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace scorecast::shard {
namespace {

using proto::DrawnToken;
using proto::MassBins;
using proto::PlanRead;
using proto::TokenId;

std::int64_t OwnedLabels(const proto::LabelList& labels, proto::Range vocabulary) {
  return std::count_if(labels.begin(), labels.end(),
                       [&](TokenId id) { return vocabulary.Contains(id); });
}

template <typename T>
T Take(const std::byte*& from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  from += sizeof(T);
  return value;
}

template <typename T>
void Put(T value, std::byte*& to) {
  std::memcpy(to, &value, sizeof(T));
  to += sizeof(T);
}

std::size_t DrawCount(const PlanRead& read) {
  return read.draw ? static_cast<std::size_t>(read.draw->count) : 0;
}

std::size_t DrawnBytes(const PlanRead& read) {
  return DrawCount(read) * (sizeof(TokenId) + sizeof(float) + sizeof(double));
}

/// Adds the tokens that a rank has drawn.
void TakeDrawn(const PlanRead& read, const std::byte*& from, std::vector<DrawnToken>& drawn) {
  for (std::size_t i = DrawCount(read); i > 0; --i) {
    DrawnToken token;
    token.id = Take<TokenId>(from);
    token.logit = Take<float>(from);
    token.sum = Take<double>(from);
    if (token.id >= 0) {
      drawn.push_back(token);
    }
  }
}

MassBins TakeMassBins(const std::byte*& from) {
  MassBins bins;
  bins.highest = Take<std::int32_t>(from);
  for (std::size_t i = 0; i < MassBins::kCount; ++i) {
    const auto mass = Take<std::uint64_t>(from);
    if (bins.highest != MassBins::kNone) {
      bins.masses.push_back(mass);
    }
  }
  return bins;
}

/// Adds what a rank has summed up before each place.
void TakeMasses(const PlanRead& read, const std::byte*& from, std::vector<std::uint64_t>& masses) {
  masses.resize(read.masses.places.size());
  for (std::uint64_t& mass : masses) {
    mass += Take<std::uint64_t>(from);
  }
}

}  // namespace

std::int64_t OwnedTop(const PlanRead& read, proto::Range vocabulary, std::int64_t owned_labels) {
  const std::int64_t others = vocabulary.size() - (read.excludes_labels ? owned_labels : 0);
  return std::min<std::int64_t>(read.top_k, others);
}

PartialLogitsLayout LayOutPartialLogits(const proto::ForwardPlan& plan, proto::Range vocabulary,
                                        std::int64_t blocks) {
  PartialLogitsLayout layout;
  layout.offsets.reserve(plan.reads.size());
  std::vector<std::int64_t> owned;
  owned.reserve(plan.label_lists.size());
  for (const proto::LabelList& labels : plan.label_lists) {
    owned.push_back(OwnedLabels(labels, vocabulary));
  }
  for (const PlanRead& read : plan.reads) {
    layout.offsets.push_back(layout.bytes);
    const std::int64_t labels = owned[static_cast<std::size_t>(read.label_list)];
    layout.bytes += static_cast<std::size_t>(labels) * sizeof(float);
    if (read.normalizer) {
      layout.bytes += static_cast<std::size_t>(blocks) * (sizeof(float) + sizeof(double));
      layout.bytes += static_cast<std::size_t>(OwnedTop(read, vocabulary, labels)) *
                      (sizeof(TokenId) + sizeof(float));
      layout.bytes += DrawnBytes(read);
      layout.bytes += read.bin_width > 0 ? static_cast<std::size_t>(MassBins::kBytes) : 0;
      layout.bytes += read.masses.places.size() * sizeof(std::uint64_t);
      layout.bytes += vocabulary.Contains(read.target) ? sizeof(float) : 0;
      layout.bytes += read.ranks_target ? sizeof(PartialLogits::target_rank) : 0;
    }
  }
  return layout;
}

void WritePartialLogits(const PlanRead& read, const PartialLogits& part, std::byte* bytes) {
  for (const float logit : part.label_logits) {
    Put(logit, bytes);
  }
  if (read.normalizer) {
    for (const Normalizer& normalizer : part.normalizers) {
      Put(normalizer.max, bytes);
      Put(normalizer.sum_exp, bytes);
    }
    for (const auto& [id, logit] : part.top) {
      Put(id, bytes);
      Put(logit, bytes);
    }
    for (std::size_t i = 0; i < DrawCount(read); ++i) {
      const DrawnToken token = i < part.drawn.size() ? part.drawn[i] : DrawnToken();
      Put(token.id, bytes);
      Put(static_cast<float>(token.logit), bytes);
      Put(token.sum, bytes);
    }
    if (read.bin_width > 0) {
      Put(part.mass_bins.highest, bytes);
      for (std::size_t i = 0; i < MassBins::kCount; ++i) {
        Put(part.mass_bins.masses.empty() ? std::uint64_t{0} : part.mass_bins.masses[i], bytes);
      }
    }
    for (const std::uint64_t mass : part.masses) {
      Put(mass, bytes);
    }
    if (part.target_logit) {
      Put(*part.target_logit, bytes);
    }
    if (read.ranks_target) {
      Put(part.target_rank, bytes);
    }
  }
}

std::vector<proto::RowLogits> MergePartialLogits(const proto::ForwardPlan& plan,
                                                 std::span<const proto::Range> vocabularies,
                                                 std::span<const std::byte> gathered,
                                                 std::span<const std::int64_t> blocks) {
  std::vector<proto::RowLogits> rows(plan.reads.size());
  const std::byte* from = gathered.data();
  std::int64_t blocks_before = 0;  // Blocks of lower ranks.
  for (std::size_t rank = 0; rank < vocabularies.size(); ++rank) {
    const proto::Range vocabulary = vocabularies[rank];
    const std::int64_t own_blocks = blocks.empty() ? 1 : blocks[rank];
    for (std::size_t i = 0; i < plan.reads.size(); ++i) {
      const PlanRead& read = plan.reads[i];
      const std::vector<TokenId>& labels =
          plan.label_lists[static_cast<std::size_t>(read.label_list)].ids();
      proto::RowLogits& row = rows[i];
      row.label_logits.resize(labels.size());
      std::int64_t owned = 0;
      for (std::size_t l = 0; l < labels.size(); ++l) {
        if (vocabulary.Contains(labels[l])) {
          row.label_logits[l] = Take<float>(from);
          ++owned;
        }
      }
      if (!read.normalizer) {
        continue;
      }
      for (std::int64_t block = 0; block < own_blocks; ++block) {
        const auto max = Take<float>(from);
        const auto sum_exp = Take<double>(from);
        if (blocks_before + block == 0) {
          row.max = max;
          row.sum_exp = sum_exp;
        } else if (!vocabulary.empty()) {
          MergeNormalizer(max, sum_exp, row.max, row.sum_exp);
        }
      }
      for (std::int64_t k = OwnedTop(read, vocabulary, owned); k > 0; --k) {
        const auto id = Take<TokenId>(from);
        row.top.emplace_back(id, Take<float>(from));
      }
      TakeDrawn(read, from, row.drawn);
      if (read.bin_width > 0) {
        row.mass_bins.Add(TakeMassBins(from));
      }
      TakeMasses(read, from, row.masses);
      if (vocabulary.Contains(read.target)) {
        row.target_logit = Take<float>(from);
      }
      if (read.ranks_target) {
        row.target_rank += Take<std::int32_t>(from);
      }
    }
    blocks_before += own_blocks;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PlanRead& read = plan.reads[i];
    KeepBest(static_cast<std::size_t>(read.top_k), rows[i].top);
    std::ranges::sort(rows[i].drawn, &proto::IsDrawnBefore);
    rows[i].drawn.resize(std::min(rows[i].drawn.size(), DrawCount(read)));
  }
  return rows;
}

void MergeNormalizer(float more_max, double more_sum_exp, float& max, double& sum_exp) {
  const float larger = std::max(max, more_max);
  sum_exp = sum_exp * std::exp(static_cast<double>(max) - larger) +
            more_sum_exp * std::exp(static_cast<double>(more_max) - larger);
  max = larger;
}

void KeepBest(std::size_t k, std::vector<std::pair<TokenId, float>>& top) {
  std::sort(top.begin(), top.end(), &IsBetter);
  top.resize(std::min(top.size(), k));
}

bool IsBetter(const std::pair<TokenId, float>& a, const std::pair<TokenId, float>& b) {
  const bool a_is_number = !std::isnan(a.second);
  const bool b_is_number = !std::isnan(b.second);
  if (a_is_number != b_is_number) {
    return a_is_number;
  }
  return a_is_number && a.second != b.second ? a.second > b.second : a.first < b.first;
}

}  // namespace scorecast::shard
