#include "bench/worker/session.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string_view>
#include <utility>

#include "bench/roofline/instruction_loops.h"
#include "bench/worker/mpi_meter.h"
#include "bench/worker/process_usage.h"
#include "bench/workload_plans.h"

namespace scorecast::bench {
namespace {

using nlohmann::json;

constexpr std::string_view kTexts = "texts:";

/// Parses "texts:40,52", if it fits a pass.
std::optional<Workload> ParseTexts(const std::string& name) {
  Workload workload;
  std::istringstream lengths(name.substr(kTexts.size()));
  std::int64_t rows = 0;
  std::int64_t length = 0;
  char comma = ',';
  while (comma == ',' && lengths >> length && length > 0 && rows <= kBenchLimits.max_rows) {
    workload.texts.push_back(length);
    rows += length;
    comma = '\0';
    lengths >> comma;
  }
  const bool is_whole = lengths.eof() && comma == '\0';
  return is_whole && rows <= kBenchLimits.max_rows ? std::optional(workload) : std::nullopt;
}

/// Parses "300+10x10", if it fits a pass. "8192+0x0" is a query without items.
std::optional<Workload> ParseItems(const std::string& name) {
  int end = 0;
  long long query = 0;
  long long items = 0;
  long long item_tokens = 0;
  if (std::sscanf(name.c_str(), "%5lld+%5lldx%5lld%n", &query, &items, &item_tokens, &end) != 3 ||
      static_cast<std::size_t>(end) != name.size() || query < 1 || items < 0 || item_tokens < 0 ||
      (items == 0) != (item_tokens == 0) || items > kBenchLimits.max_reads ||
      query + items * item_tokens > kBenchLimits.max_rows) {
    return std::nullopt;
  }
  return Workload{.query_tokens = query, .items = items, .item_tokens = item_tokens};
}

std::string NameOf(const Workload& workload) {
  if (!workload.texts.empty()) {
    std::string name;
    for (const std::int64_t length : workload.texts) {
      name += (name.empty() ? kTexts : ",");
      name += std::to_string(length);
    }
    return name;
  }
  return std::to_string(workload.query_tokens) + '+' + std::to_string(workload.items) + 'x' +
         std::to_string(workload.item_tokens);
}

/// [rows * labels]: all labels of the first row, then of the next.
json LogProbabilities(const std::vector<proto::RowLogits>& rows) {
  json all = json::array();
  for (const proto::RowLogits& row : rows) {  // A workload of texts has none.
    for (const float logit : row.label_logits) {
      all.push_back(double{logit} - double{row.max} - std::log(row.sum_exp));
    }
  }
  return all;
}

json MemoryJson() {
  const ResidentMemory memory = ProcessMemory();
  return {{"anonymous", memory.anonymous},
          {"file", memory.file},
          {"shared", memory.shared},
          {"peak", memory.peak}};
}

json LoadJson(const shard::LoadFigures& load) {
  return {{"seconds", load.seconds},
          {"read_bytes", load.read_bytes},
          {"storage_bytes", load.storage_bytes},
          {"exchanged", load.columns.reads == shard::ColumnReads::kExchanged},
          {"reason", load.columns.reason}};
}

template <typename Work>
double Seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Turns "memory.anonymous" into ["memory"]["anonymous"]. Figures of memory are the current ones;
/// the others are the differences from `before`, unless that is null.
json ReportJson(const RankReport& report, const RankReport* before) {
  json result = json::object();
  for (std::size_t i = 0; i < report.size(); ++i) {
    const auto& [name, value] = report[i];
    const std::size_t dot = name.find('.');
    const std::string kind = name.substr(0, dot);
    const double earlier = before != nullptr && kind != "memory" ? (*before)[i].second : 0;
    result[kind][name.substr(dot + 1)] = value - earlier;
  }
  return result;
}

}  // namespace

Session::Session(BenchEngine& engine, std::string dtype, MemoryPeak* peak)
    : engine_(engine), dtype_(std::move(dtype)), peak_(peak) {}

json Session::Hello() {
  double bytes = 0;
  for (int rank = 0; rank < engine_.group().size(); ++rank) {
    const proto::Partition partition = engine_.partition(rank);
    bytes += WeightBytes(engine_.config(), partition, engine_.weights().layer_size,
                         engine_.weights().lm_head_size);
  }
  return {{"engine", "scorecast"},
          {"version", engine_.BackendDescription()},
          {"dtype", dtype_},
          {"layers", engine_.config().num_hidden_layers()},
          {"ranks", engine_.group().size()},
          {"threads", engine_.pool().threads()},
          {"weight_bytes", bytes},
          {"load", LoadJson(engine_.load_figures())},
          {"start", TakeReports()}};
}

json Session::Reply(const std::string& line) {
  std::istringstream words(line);
  std::string command;
  std::string what;
  std::string name;
  words >> command;
  json reply = {{"err", "not a command, or not a workload of this model that fits a pass"}};
  if (command == "instructions" && words >> what) {
    reply = Instructions(what);
  } else if (command == "reads") {
    reply = Reads();
  } else if (command == "kernels") {
    reply = KernelNames();
  } else if (command == "kernel" && std::getline(words >> std::ws, name)) {
    reply = Kernel(name);
  } else if (command == "gemms" && words >> what >> name) {
    const std::size_t colon = what.find(':');
    const std::optional<Workload> workload = Parse(name);
    if (workload && colon != std::string::npos) {
      reply = Gemms(what.substr(0, colon), what.substr(colon + 1), *workload);
    }
  } else if (std::int64_t prompts = 0;
             command == "one-by-one" && words >> name >> prompts && prompts >= 1) {
    const std::optional<Workload> workload = Parse(name);
    if (workload && workload->texts.empty()) {
      reply = OneByOne(*workload, prompts);
    }
  } else if (const std::optional<Workload> workload = Parse(line)) {
    reply = Pass(*workload);
  }
  reply["name"] = line;
  return reply;
}

std::optional<Workload> Session::Parse(const std::string& name) const {
  if (name.starts_with(kTexts) != engine_.config().read_head.has_value()) {
    return std::nullopt;
  }
  return name.starts_with(kTexts) ? ParseTexts(name) : ParseItems(name);
}

const proto::ForwardPlan& Session::PlanOf(const Workload& workload) {
  const std::string name = NameOf(workload);
  const auto plan = plans_.find(name);
  return plan != plans_.end() ? plan->second
                              : plans_
                                    .emplace(name, PackedPlan(workload, engine_.config().vocab_size,
                                                              engine_.limits()))
                                    .first->second;
}

std::vector<Product> Session::ProductsOf(const proto::ForwardPlan& plan) {
  return ProductsOfPass(engine_.config(), engine_.partition(),
                        static_cast<std::int64_t>(plan.tokens.size()),
                        static_cast<std::int64_t>(plan.reads.size()));
}

json Session::Pass(const Workload& workload) {
  const proto::ForwardPlan& plan = PlanOf(workload);
  const MpiCost mpi_before = MpiCostSoFar();
  const std::int64_t faults_before = ProcessPageFaults();
  const double cpu_before = ProcessCpuSeconds();
  std::vector<proto::RowLogits> rows;
  const double seconds = Seconds([&] { rows = engine_.runner().Run(plan); });
  const double cpu = ProcessCpuSeconds() - cpu_before;
  const std::int64_t faults = ProcessPageFaults() - faults_before;
  const MpiCost mpi = MpiCostSoFar() - mpi_before;
  return {{"t", seconds},
          {"cpu", cpu},
          {"page_faults", faults},
          {"tokens", plan.tokens.size()},
          {"operations", OperationsOf(ProductsOf(plan))},
          {"memory", MemoryJson()},
          {"mpi",
           {{"exchanges", mpi.exchanges},
            {"exchange_s", mpi.exchange_seconds},
            {"broadcast_s", mpi.broadcast_seconds}}},
          {"ranks", TakeReports()},
          {"r", LogProbabilities(rows)}};
}

json Session::OneByOne(const Workload& workload, std::int64_t prompts) {
  double seconds = 0;
  std::size_t tokens = 0;
  const std::vector<proto::ForwardPlan> plans =
      OneByOnePlans(workload, engine_.config().vocab_size, engine_.limits(), prompts);
  for (const proto::ForwardPlan& plan : plans) {
    seconds += Seconds([&] { engine_.runner().Run(plan); });
    tokens += plan.tokens.size();
    TakeReports();
  }
  return {{"t", seconds}, {"prompts", plans.size()}, {"tokens", tokens}};
}

json Session::Gemms(const std::string& library, const std::string& dtype,
                    const Workload& workload) {
  const auto [entry, is_new] = gemms_.try_emplace(library + ':' + dtype);
  if (is_new) {
    if (library == "onednn" && (dtype == "f32" || dtype == "bf16" || dtype == "int8")) {
      entry->second = MakeOneDnnGemms(dtype, engine_.pool());
    } else if (library == "openblas" && dtype == "f32") {
      entry->second = MakeOpenBlasGemms(engine_.pool().threads());
    }
  }
  if (entry->second == nullptr) {
    return {{"err", library + " has no fast kernels for " + dtype +
                        " with this CPU's instructions, or those of --kernel"}};
  }
  const std::vector<Product> products = ProductsOf(PlanOf(workload));
  return {{"t", entry->second->Run(products)},
          {"operations", OperationsOf(products)},
          {"version", entry->second->Description()}};
}

json Session::Instructions(const std::string& dtype) {
  json rates = json::object();
  for (const InstructionLoop& loop : InstructionLoops(dtype, engine_.features())) {
    rates[loop.instruction] = OperationsPerSecond(loop, engine_.pool());
  }
  return {{"operations_per_second", rates}};
}

json Session::Reads() {
  if (!reads_) {
    reads_.emplace(BytesBeyondCaches(), engine_.pool());
  }
  return {{"bytes_per_second", reads_->BytesPerSecond()}};
}

json Session::KernelNames() {
  if (engine_.group().size() > 1 || engine_.pool().threads() > 1) {
    return {{"err", "kernels are measured with one rank of one thread"}};
  }
  if (!kernels_) {
    kernels_.emplace(engine_, dtype_);
  }
  return {{"kernels", kernels_->names()}};
}

json Session::Kernel(const std::string& name) {
  if (json reply = KernelNames(); reply.contains("err")) {
    return reply;
  }
  const std::optional<KernelRates> rates = kernels_->Measure(name);
  if (!rates) {
    return {{"err", "there is no kernel of this name"}};
  }
  json reply = {{"t", rates->seconds},
                {"operations", rates->counts.operations},
                {"elements", rates->counts.elements},
                {"bytes", rates->counts.bytes}};
  const auto add = [&](const char* figure, std::optional<double> value) {
    if (value) {
      reply[figure] = *value;
    }
  };
  add("operations_per_second", rates->operations_per_second);
  add("bytes_per_second", rates->bytes_per_second);
  add("share_of_bare", rates->share_of_bare);
  add("operations_an_element", rates->operations_an_element);
  add("share_of_reads", rates->share_of_reads);
  return reply;
}

json Session::TakeReports() {
  const std::vector<RankReport> before = std::exchange(reports_, GatherReports(engine_, peak_));
  json ranks = json::array();
  for (std::size_t rank = 0; rank < reports_.size(); ++rank) {
    ranks.push_back(ReportJson(reports_[rank], before.empty() ? nullptr : &before[rank]));
  }
  return ranks;
}

void FollowSession(BenchEngine& engine, MemoryPeak* peak) {
  do {
    GatherReports(engine, peak);
  } while (engine.runner().FollowOne());
}

}  // namespace scorecast::bench
