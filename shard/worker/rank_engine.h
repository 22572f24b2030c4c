#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/exchange/row_exchange.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/column_reads.h"
#include "shard/model/load_layers.h"
#include "shard/model/transformer.h"
#include "shard/runtime/progress.h"
#include "shard/runtime/thread_pool.h"
#include "shard/worker/doorbell.h"
#include "shard/worker/plan_runner.h"
#include "shard/worker/rank_watch.h"

namespace scorecast::shard {

/// The arithmetic of all ranks of a group: the best that every one of them supports.
struct AgreedArithmetic {
  CpuFeatures features;  ///< The features that every rank may use.
  ArithmeticChoice products;
};

/// Collective. `features` are the features that this rank may use. `precision` is the same on every
/// rank; if it is absent, it is DefaultPrecision of the agreed features. Must be called before
/// oneDNN is first used.
AgreedArithmetic AgreeOnArithmetic(const proto::Communicator& group, CpuFeatures features,
                                   std::optional<Precision> precision);

/// Refuses ranks whose files of weights differ (their paths may), and a checkpoint that does not
/// fit the configuration. StartupError on every rank. Collective. Returns the files' names.
std::vector<std::string> AgreeOnCheckpoint(const proto::Communicator& group,
                                           const Checkpoint& checkpoint,
                                           const proto::ModelConfig& config);

struct RankEngineOptions {
  AgreedArithmetic arithmetic;
  int threads = 1;
  proto::PlanLimits limits;
  proto::Sharding sharding = proto::Sharding::kEven;
  int ranks_a_host = RowExchange::kAsTheyAre;  ///< For tests: see RowExchange.
  LoadProgress progress = [](std::int64_t, std::int64_t) {};
  WatchOptions watch;
  bool has_checksums = false;  ///< See RankEngine::checksums. The same on every rank.
  /// For tests and benches; the same on every rank. Otherwise ChooseColumnReads says it.
  std::optional<ColumnReads> column_reads;
};

/// The CRC-32C of all bytes of a file of weights.
struct FileChecksum {
  std::string name;  ///< In the model's directory.
  std::uint32_t crc32c = 0;
};

/// What it cost to read the weights.
struct LoadFigures {
  double seconds = 0;  ///< Until the slowest rank had read and packed its weights.
  /// Bytes that each rank read of files, including those from the page cache: [ranks].
  std::vector<std::int64_t> read_bytes;
  /// Those that came from disks and file servers, if known, and what the system read besides.
  std::vector<std::int64_t> storage_bytes;
  ColumnChoice columns;
};

/// Everything that a rank needs to compute passes, from the weights to the runner of plans. All
/// ranks of the group make and use it together.
class RankEngine {
 public:
  /// StartupError, on every rank, if one of them cannot make it.
  RankEngine(proto::Communicator& group, const std::filesystem::path& model_dir,
             const proto::ModelConfig& config, const RankEngineOptions& options);

  ThreadPool& pool() { return *pool_; }
  const Transformer& transformer() const { return *transformer_; }
  const RowExchange& exchange() const { return *exchange_; }
  PlanRunner& runner() { return *runner_; }

  const LoadFigures& load_figures() const { return load_figures_; }
  /// The checksum of every file, on every rank. Empty without RankEngineOptions::has_checksums.
  const std::vector<FileChecksum>& checksums() const { return checksums_; }
  /// For the log: the precision, libraries and kernels, and how the ranks exchange sums.
  std::string Description() const;
  const Arithmetic& arithmetic() const { return *arithmetic_; }

 private:
  AgreedArithmetic agreed_;
  LoadFigures load_figures_;
  std::vector<FileChecksum> checksums_;
  Progress progress_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<RankWatch> watch_;
  std::unique_ptr<RowExchange> exchange_;
  std::unique_ptr<Arithmetic> arithmetic_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<TileScratch> tiles_;
  std::unique_ptr<Transformer> transformer_;
  std::unique_ptr<Doorbell> doorbell_;
  std::unique_ptr<PlanRunner> runner_;
};

}  // namespace scorecast::shard
