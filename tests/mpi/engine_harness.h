#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/text_steps.h"
#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"
#include "shard/exchange/row_exchange.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/precision.h"
#include "shard/worker/plan_runner.h"
#include "shard/worker/rank_engine.h"
#include "tests/shard/linear/print_precision.h"

namespace scorecast::testing {

/// Limits of the tests' plans, small enough that sequences need several passes.
proto::PlanLimits TestLimits(std::int32_t max_rows);

/// The features of this CPU, or those that the kernel set needs which SCORECAST_TEST_KERNEL in the
/// environment names.
shard::CpuFeatures FeaturesOfTests();

/// Ranks that have a host of their own: SCORECAST_TEST_RANKS_A_HOST in the environment, or as the
/// ranks are.
int RanksAHostOfTests();

/// The engine of a model directory on all ranks of the job. Every rank calls the same methods with
/// the same arguments.
class Engine {
 public:
  struct Options {
    int threads = 2;
    std::int32_t max_rows = 512;
    /// For scorecast's own kernels. oneDNN is limited by the first engine of the process.
    shard::CpuFeatures features = FeaturesOfTests();
    shard::Precision precision = shard::Precision::kFloat32;
    /// As if so many ranks had a host of their own.
    int ranks_a_host = RanksAHostOfTests();
    proto::Sharding sharding = proto::Sharding::kEven;
    std::int64_t max_logit_bytes = proto::kMaxLogitBytes;
    bool has_checksums = false;
    std::optional<shard::ColumnReads> column_reads = std::nullopt;
  };

  explicit Engine(const std::filesystem::path& model_dir) : Engine(model_dir, Options()) {}
  Engine(const std::filesystem::path& model_dir, Options options);
  /// Takes a configuration, which need not be one that a config.json can express.
  Engine(const std::filesystem::path& model_dir, proto::ModelConfig config, Options options);
  /// The same on the ranks of `group` alone, which make it together.
  Engine(const std::filesystem::path& model_dir, proto::ModelConfig config, Options options,
         proto::Communicator group);

  const proto::ModelConfig& config() const { return config_; }
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  bool is_root() const { return group_.is_root(); }
  int ranks() const { return group_.size(); }
  const proto::PlanLimits& limits() const { return limits_; }
  shard::PlanRunner& runner() { return rank_->runner(); }
  /// The engine's description, as in the log.
  std::string Description() const { return rank_->Description(); }
  const std::vector<shard::FileChecksum>& checksums() const { return rank_->checksums(); }

  /// Returns one RowLogits for each read of the plan; empty on ranks other than 0.
  std::vector<proto::RowLogits> Run(const proto::ForwardPlan& plan);

  /// Token buckets that replace a plan's own. 0 keeps the plan's.
  struct Buckets {
    std::uint32_t rows = 0;
    std::uint32_t reads = 0;
  };

  /// Computes sequences together in one pass: [sequences][reads]; empty on ranks other than 0.
  std::vector<std::vector<proto::RowLogits>> RunTogether(
      const std::vector<proto::PackedSequence>& sequences) {
    return RunTogether(sequences, Buckets());
  }
  std::vector<std::vector<proto::RowLogits>> RunTogether(
      const std::vector<proto::PackedSequence>& sequences, Buckets buckets);

  /// Computes one sequence in as many passes as the limits require: [reads]; empty on ranks other
  /// than 0.
  std::vector<proto::RowLogits> RunInParts(const proto::PackedSequence& sequence);
  /// The same with a cache, in passes within `limits`, which are the engine's or lower ones.
  std::vector<proto::RowLogits> RunInParts(const proto::PackedSequence& sequence,
                                           coordinator::BlockCache& cache,
                                           const proto::PlanLimits& limits);
  /// A text that is computed in the steps of `cut`. Between them it waits from `first_row` on.
  struct TextInSteps {
    proto::PackedSequence text;
    coordinator::TextCut cut;
    std::int32_t first_row = 0;
  };
  /// Computes texts, which take turns with their steps: [texts][reads]; empty on ranks other
  /// than 0.
  std::vector<std::vector<proto::RowLogits>> RunInSteps(std::vector<TextInSteps> texts);

 private:
  proto::ModelConfig config_;
  proto::PlanLimits limits_;
  proto::Communicator group_;
  std::unique_ptr<shard::RankEngine> rank_;
};

/// A packed sequence of a query and items. It reads the last row of the prefix, then the last row
/// of each item, with the logits of `labels`.
proto::PackedSequence ItemsSequence(const std::vector<proto::TokenId>& prefix,
                                    const std::vector<std::vector<proto::TokenId>>& items,
                                    const std::vector<proto::TokenId>& labels, int top_k = 0);

/// The name of a test's parameters: "bf16_qwen2_yarn".
std::string PrecisionAndFamily(shard::Precision precision, std::string_view family);

/// Log-probabilities: [labels].
std::vector<double> LabelLogProbs(const proto::RowLogits& row);

/// True if all numbers of both are the same bits.
bool SameBits(const proto::RowLogits& a, const proto::RowLogits& b);

}  // namespace scorecast::testing
