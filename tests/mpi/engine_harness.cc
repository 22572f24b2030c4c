#include "tests/mpi/engine_harness.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>

#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_run.h"

namespace scorecast::testing {

using proto::ForwardPlan;
using proto::PackedSequence;
using proto::RowLogits;

proto::PlanLimits TestLimits(std::int32_t max_rows) {
  return {.max_rows = max_rows,
          .max_reads = max_rows + 256,
          .pass_kv_rows = 16 * (max_rows + 256),
          .kept_kv_rows = 8192,
          .longest_text = 1024,
          .text_rows = 2048};
}

shard::CpuFeatures FeaturesOfTests() {
  const shard::CpuFeatures features = shard::DetectCpuFeatures();
  const char* name = std::getenv("SCORECAST_TEST_KERNEL");
  if (name == nullptr) {
    return features;
  }
  const auto set = std::ranges::find(shard::KernelSets(), name, &shard::KernelSet::name);
  if (set == shard::KernelSets().end()) {
    throw std::invalid_argument(std::string("no kernel set is called ") + name);
  }
  return set->needs & features;  // Without some of them, the tests run with the next set.
}

int RanksAHostOfTests() {
  const char* ranks = std::getenv("SCORECAST_TEST_RANKS_A_HOST");
  return ranks == nullptr ? shard::RowExchange::kAsTheyAre : std::stoi(ranks);
}

Engine::Engine(const std::filesystem::path& model_dir, Options options)
    : Engine(model_dir, proto::LoadModelConfig(model_dir), options) {}

Engine::Engine(const std::filesystem::path& model_dir, proto::ModelConfig config, Options options)
    : Engine(model_dir, std::move(config), options, proto::Communicator::World()) {}

Engine::Engine(const std::filesystem::path& model_dir, proto::ModelConfig config, Options options,
               proto::Communicator group)
    : config_(std::move(config)), limits_(TestLimits(options.max_rows)), group_(std::move(group)) {
  limits_.max_logit_bytes = options.max_logit_bytes;
  proto::SetModelLimits(config_, group_.size(), limits_, options.sharding);
  shard::RankEngineOptions made;
  made.arithmetic = shard::AgreeOnArithmetic(group_, options.features, options.precision);
  made.threads = options.threads;
  made.limits = limits_;
  made.ranks_a_host = options.ranks_a_host;
  made.sharding = options.sharding;
  made.has_checksums = options.has_checksums;
  made.column_reads = options.column_reads;
  rank_ = std::make_unique<shard::RankEngine>(group_, model_dir, config_, made);
}

Engine::~Engine() {
  if (group_.is_root()) {
    runner().StopFollowers();
  } else {
    runner().FollowOne();
  }
}

std::vector<RowLogits> Engine::Run(const ForwardPlan& plan) {
  if (!group_.is_root()) {
    runner().FollowOne();
    return {};
  }
  return runner().Run(plan);
}

std::vector<std::vector<RowLogits>> Engine::RunTogether(
    const std::vector<PackedSequence>& sequences, Buckets buckets) {
  coordinator::BlockCache no_cache(0, 0);
  coordinator::PassBuilder pass(limits_);
  std::vector<PackedSequence> narrowed = sequences;
  std::vector<std::vector<RowLogits>> results(sequences.size());
  std::vector<std::unique_ptr<coordinator::SequenceRun>> runs;
  for (std::size_t i = 0; i < narrowed.size(); ++i) {
    narrowed[i].NarrowReads(limits_.pooled_rows);
    runs.push_back(std::make_unique<coordinator::SequenceRun>(
        narrowed[i], results[i], std::vector<coordinator::Generation>(), "", no_cache, limits_));
    if (runs.back()->AddWhole(pass) != coordinator::SequenceRun::Outcome::kAdded) {
      throw std::logic_error("the test's sequences do not fit one pass");
    }
  }
  ForwardPlan plan = std::move(pass).Take();
  if (buckets.rows != 0) {
    plan.bucket = buckets.rows;
  }
  if (buckets.reads != 0) {
    plan.read_bucket = buckets.reads;
  }
  std::vector<RowLogits> rows = Run(plan);
  if (!is_root()) {
    return {};
  }
  std::span<RowLogits> left = rows;
  for (const auto& run : runs) {
    const std::size_t reads = run->reads_in_pass();
    run->Take(left.first(reads));
    left = left.subspan(reads);
  }
  return results;
}

std::vector<RowLogits> Engine::RunInParts(const PackedSequence& sequence) {
  coordinator::BlockCache pages(limits_.kept_kv_rows / proto::kKvPageRows, 0);
  return RunInParts(sequence, pages, limits_);
}

std::vector<RowLogits> Engine::RunInParts(const PackedSequence& sequence,
                                          coordinator::BlockCache& cache,
                                          const proto::PlanLimits& limits) {
  std::vector<RowLogits> results;
  coordinator::SequenceRun run(sequence, results, {}, "", cache, limits);
  while (!run.is_done()) {
    coordinator::PassBuilder pass(limits);
    if (run.AddPart(pass, limits.max_rows) != coordinator::SequenceRun::Outcome::kAdded) {
      throw std::logic_error("the test's sequence does not fit the engine");
    }
    std::vector<RowLogits> rows = Run(std::move(pass).Take());
    rows.resize(run.reads_in_pass());  // Ranks other than 0 have no rows.
    run.Take(rows);
    cache.PassDone();
  }
  return is_root() ? results : std::vector<RowLogits>();
}

std::vector<std::vector<RowLogits>> Engine::RunInSteps(std::vector<TextInSteps> texts) {
  coordinator::BlockCache no_cache(0, 0);
  std::vector<std::vector<RowLogits>> results(texts.size());
  std::vector<std::unique_ptr<coordinator::SequenceRun>> runs;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i].text.NarrowReads(limits_.pooled_rows);
    runs.push_back(std::make_unique<coordinator::SequenceRun>(
        texts[i].text, results[i], std::vector<coordinator::Generation>(), "", no_cache, limits_,
        texts[i].cut));
  }
  for (bool is_left = true; is_left;) {
    is_left = false;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i]->is_done()) {
        continue;
      }
      is_left = true;
      coordinator::PassBuilder pass(limits_);
      runs[i]->AddStep(pass, texts[i].first_row);
      std::vector<RowLogits> rows = Run(std::move(pass).Take());
      rows.resize(runs[i]->reads_in_pass());  // Ranks other than 0 have no rows.
      runs[i]->Take(rows);
    }
  }
  return is_root() ? results : std::vector<std::vector<RowLogits>>();
}

PackedSequence ItemsSequence(const std::vector<proto::TokenId>& prefix,
                             const std::vector<std::vector<proto::TokenId>>& items,
                             const std::vector<proto::TokenId>& labels, int top_k) {
  PackedSequence sequence =
      coordinator::PackItems(std::make_shared<const std::vector<proto::TokenId>>(prefix), items);
  // Tests change tokens in place.
  sequence.tokens = sequence.AllTokens();
  sequence.shared = {};
  sequence.label_lists = {labels};
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  sequence.reads.push_back({prefix_length - 1, 0, true, top_k});
  for (const std::int32_t row : coordinator::LastRowOfEachItem(prefix_length, items)) {
    sequence.reads.push_back({row, 0, true, top_k});
  }
  return sequence;
}

std::string PrecisionAndFamily(shard::Precision precision, std::string_view family) {
  std::string name = std::string(shard::Name(precision)) + "_" + std::string(family);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::vector<double> LabelLogProbs(const RowLogits& row) {
  std::vector<double> log_probs;
  for (const float logit : row.label_logits) {
    log_probs.push_back(static_cast<double>(logit) - row.max - std::log(row.sum_exp));
  }
  return log_probs;
}

bool SameBits(const RowLogits& a, const RowLogits& b) {
  const auto same_top = [&] {
    for (std::size_t i = 0; i < a.top.size(); ++i) {
      if (a.top[i].first != b.top[i].first ||
          std::memcmp(&a.top[i].second, &b.top[i].second, sizeof(float)) != 0) {
        return false;
      }
    }
    return true;
  };
  return a.embedding.size() == b.embedding.size() &&
         std::memcmp(a.embedding.data(), b.embedding.data(), a.embedding.size() * sizeof(float)) ==
             0 &&
         a.target_rank == b.target_rank &&
         std::memcmp(&a.target_logit, &b.target_logit, sizeof(float)) == 0 &&
         a.label_logits.size() == b.label_logits.size() && a.top.size() == b.top.size() &&
         std::memcmp(a.label_logits.data(), b.label_logits.data(),
                     a.label_logits.size() * sizeof(float)) == 0 &&
         std::memcmp(&a.max, &b.max, sizeof(a.max)) == 0 &&
         std::memcmp(&a.sum_exp, &b.sum_exp, sizeof(a.sum_exp)) == 0 && a.drawn == b.drawn &&
         a.mass_bins == b.mass_bins && a.masses == b.masses && same_top();
}

}  // namespace scorecast::testing
