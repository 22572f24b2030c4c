#include "shard/worker/rank_engine.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "proto/base/check.h"
#include "proto/model/partition.h"
#include "proto/mpi/agreement.h"
#include "shard/checkpoint/checksum_share.h"
#include "shard/checkpoint/crc32c.h"
#include "shard/checkpoint/read_ahead.h"
#include "shard/kernels/kernels.h"
#include "shard/model/open_checkpoint.h"
#include "shard/model/tensors.h"
#include "shard/model/weight_slices.h"

namespace scorecast::shard {

AgreedArithmetic AgreeOnArithmetic(const proto::Communicator& group, CpuFeatures features,
                                   std::optional<Precision> precision) {
  AgreedArithmetic agreed;
  agreed.features = features;
  for (const int bits : group.AllGather(features.bits())) {
    agreed.features = agreed.features & CpuFeatures::FromBits(bits);
  }
  // If a library does not support a precision on one rank, no rank uses the library for it. All
  // ranks ask the same questions in the same order, because each question depends only on the
  // agreed answers to the earlier ones.
  agreed.products = ChooseArithmeticOfEngine(
      agreed.features, precision, [&](bool here) { return group.Min(here ? 1 : 0) == 1; });
  return agreed;
}

std::vector<std::string> AgreeOnCheckpoint(const proto::Communicator& group,
                                           const Checkpoint& checkpoint,
                                           const proto::ModelConfig& config) {
  std::vector<proto::Fingerprint> files;
  std::vector<std::string> names;
  proto::StartupPhase(group, [&] {
    for (const Checkpoint::FileDigest& file : checkpoint.Digests()) {
      files.push_back({file.name, file.digest, file.path + " differs from rank 0's"});
      names.push_back(file.name);
    }
  });
  proto::AgreeOn(group, files);
  proto::StartupPhase(group, [&] { CheckTensors(checkpoint, config); });
  return names;
}

namespace {

/// Bytes that this process has let the system read from disks and file servers.
std::int64_t StorageBytes() {
  std::ifstream file("/proc/self/io");
  std::string name;
  for (std::int64_t bytes = 0; file >> name >> bytes;) {
    if (name == "read_bytes:") {
      return bytes;
    }
  }
  return 0;
}

/// Every rank's number: [ranks].
std::vector<std::int64_t> AllOf(const proto::Communicator& group, std::int64_t mine) {
  std::vector<std::int64_t> all;
  for (const std::string& text : group.AllGather(std::to_string(mine))) {
    all.push_back(std::stoll(text));
  }
  return all;
}

/// The checksums of the files, computed from what every rank has hashed.
std::vector<FileChecksum> Checksums(const proto::Communicator& group,
                                    const std::vector<std::string>& names,
                                    const std::vector<const WeightFile*>& files,
                                    const ChecksumShare& share) {
  std::string mine;
  for (const std::uint32_t remainder : share.remainders()) {
    mine += std::to_string(remainder) + " ";
  }
  std::vector<std::uint32_t> sums(files.size(), 0);
  for (const std::string& text : group.AllGather(mine)) {
    std::istringstream remainders(text);
    std::uint32_t remainder = 0;
    for (std::uint32_t& sum : sums) {
      proto::Check(static_cast<bool>(remainders >> remainder), "every rank has the same files");
      sum ^= remainder;
    }
  }
  std::vector<FileChecksum> checksums;
  for (std::size_t i = 0; i < files.size(); ++i) {
    checksums.push_back({names[i], Crc32cOfRemainder(sums[i], files[i]->size())});
  }
  return checksums;
}

}  // namespace

RankEngine::RankEngine(proto::Communicator& group, const std::filesystem::path& model_dir,
                       const proto::ModelConfig& config, const RankEngineOptions& options)
    : agreed_(options.arithmetic) {
  proto::StartupPhase(group, [&] {
    checkpoint_ = std::make_unique<Checkpoint>(OpenCheckpoint(model_dir, config));
  });
  const std::vector<std::string> names = AgreeOnCheckpoint(group, *checkpoint_, config);
  proto::StartupPhase(group, [&] { pool_ = std::make_unique<ThreadPool>(options.threads); });
  exchange_ = std::make_unique<RowExchange>(Transformer::MakeExchange(
      group, config, agreed_.products.layers, options.limits, KernelsFor(agreed_.features), *pool_,
      options.ranks_a_host, options.sharding));
  exchange_->ReportTo(progress_);
  // The doorbell is connected before the weights are read, so that start-up is watched, too.
  watch_ = std::make_unique<RankWatch>(group, options.watch, progress_, *pool_);
  doorbell_ = Doorbell::Connect(group, watch_.get());
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t storage_bytes = StorageBytes();
  ColumnExchange exchange(group, *pool_);
  load_figures_.columns =
      options.column_reads
          ? ColumnChoice{*options.column_reads, "as asked for"}
          : ChooseColumnReads(group, *checkpoint_, config, options.sharding, exchange, *pool_);
  const ColumnReads column_reads = load_figures_.columns.reads;
  const std::vector<const WeightFile*> files = checkpoint_->Files();
  const Kernels& kernels = KernelsFor(agreed_.features);
  std::optional<ChecksumShare> share;
  std::optional<ReadAhead> read_ahead;
  proto::StartupPhase(group, [&] {
    const auto slices_of = [&](int rank) {
      return WeightSlices(*checkpoint_, config, rank, group.size(), column_reads, options.sharding);
    };
    std::vector<std::vector<FilePart>> steps = slices_of(group.rank());
    if (options.has_checksums) {
      share.emplace(files, BlocksToHash(files, slices_of, group.rank(), group.size()));
      for (std::size_t step = 0; step < steps.size(); ++step) {
        std::ranges::copy(share->steps()[step], std::back_inserter(steps[step]));
      }
    }
    read_ahead.emplace(std::move(steps));
    arithmetic_ = std::make_unique<Arithmetic>(kernels, agreed_.products, pool_->threads());
    tiles_ = std::make_unique<TileScratch>(pool_->threads());
  });
  // Hashes the blocks of a step that its reads have left.
  const auto hash = [&](std::int64_t step) {
    if (share) {
      share->HashStep(step, *pool_);
    }
  };
  std::vector<Layer> layers = LoadLayers(
      group, config, *checkpoint_,
      {arithmetic_->layer_backend(), arithmetic_->layers(), *pool_, *tiles_, kernels},
      options.sharding, column_reads, exchange, [&](std::int64_t done, std::int64_t all) {
        hash(done - 1);
        read_ahead->Reach(done);
        options.progress(done, all);
      });
  proto::StartupPhase(group, [&] {
    transformer_ = std::make_unique<Transformer>(config, *checkpoint_, *exchange_, *arithmetic_,
                                                 kernels, *pool_, *tiles_, options.limits,
                                                 std::move(layers), options.sharding);
    hash(config.num_hidden_layers());
    checkpoint_->CheckUnchanged();
  });
  if (share) {
    checksums_ = Checksums(group, names, files, *share);
  }
  load_figures_.storage_bytes = AllOf(group, StorageBytes() - storage_bytes);
  load_figures_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  load_figures_.read_bytes = AllOf(group, read_ahead->bytes());
  proto::StartupPhase(group, [&] {
    transformer_->ExtendRopeTables(proto::TouchedLimits(options.limits).max_rows);
  });
  // Touch is collective, so it must not fail on one rank only. It cannot, because it allocates
  // nothing.
  transformer_->Touch();
  runner_ = std::make_unique<PlanRunner>(group, *transformer_, *doorbell_, progress_, *watch_);
  progress_.BecomeIdle();
  // The first reports of other ranks may come later, but /ready must agree with "ready:" in the
  // log.
  watch_->StartupIsOver();
}

std::string RankEngine::Description() const {
  return arithmetic_->Description() + ", kernels " +
         std::string(BestKernelSet(agreed_.features).name) +
         (exchange_->ranks() == 1 ? "" : ", sums by " + exchange_->Description());
}

}  // namespace scorecast::shard
