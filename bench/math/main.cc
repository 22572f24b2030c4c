// Whether the C library's functions give the engine other bits on another CPU. glibc has variants
// of exp, log, sin and others for CPUs with and without FMA, and chooses them when a program
// starts. This program starts itself twice, with FMA and without, and compares the results.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/request/row_scores.h"
#include "proto/model/model_config.h"
#include "proto/plan/gumbel.h"
#include "proto/plan/row_logits.h"
#include "shard/model/rope_table.h"

namespace {

// A program of its own, so these directives affect no other file.
using namespace scorecast;               // NOLINT(google-build-using-namespace)
using namespace scorecast::coordinator;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kPositions = 131'072;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kTableSize = kPositions * kHeadDim;
constexpr const char* kWithoutFma = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2";

/// A number in (0, 1) for argument number `i` of series `series`.
double Uniform(std::uint64_t series, std::int64_t i) {
  return proto::GumbelUniform(series, /*step=*/0, static_cast<proto::TokenId>(i));
}

void Write(double result) {
  if (std::fwrite(&result, sizeof(result), 1, stdout) != 1) {
    throw std::runtime_error("nobody reads the results");
  }
}

template <typename Function>
void WriteEach(std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) {
    Write(function(i));
  }
}

/// Tokens of 32 that are drawn with Gumbel noise, one a step.
void WriteDrawnTokens(std::int64_t count) {
  constexpr proto::TokenId kTokens = 32;
  for (std::int64_t step = 0; step < count; ++step) {
    const auto number = static_cast<std::uint32_t>(step);
    std::pair<double, proto::TokenId> best = {-HUGE_VAL, 0};
    for (proto::TokenId id = 0; id < kTokens; ++id) {
      const auto logit = static_cast<float>(6 * proto::GumbelUniform(/*seed=*/2, number, id));
      best = std::max(best, {double{logit} + proto::GumbelNoise(/*seed=*/1, number, id), id});
    }
    Write(best.second);
  }
}

/// Scores of rows with two labels: `count` numbers.
void WriteScores(std::int64_t count, ScoreKind kind) {
  for (std::int64_t i = 0; i < count; i += 2) {
    proto::RowLogits row;
    row.label_logits = {static_cast<float>(16 * Uniform(3, i)),
                        static_cast<float>(16 * Uniform(3, i + 1))};
    row.max = 16;
    row.sum_exp = 1 + 1000 * Uniform(4, i);
    const std::vector<double> scores = ScoresOfRow(row, kind, /*temperature=*/1).value();
    for (const double score : scores) {
      Write(score);
    }
  }
}

void WriteRopeTable(const proto::RopeConfig& config) {
  shard::RopeTable table(config, kHeadDim);
  table.Extend(kPositions);
  for (std::int64_t position = 0; position < kPositions; ++position) {
    for (std::int64_t pair = 0; pair < kHeadDim / 2; ++pair) {
      Write(table.cosine(position)[pair]);
      Write(table.sine(position)[pair]);
    }
  }
}

/// Results of one kind, which a process writes as float64.
struct Results {
  const char* name;
  std::int64_t count;
  void (*write)(std::int64_t count);
};

/// Functions in float64, then what the engine makes of them.
constexpr Results kResults[] = {
    {"exp", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::exp(-32 * Uniform(5, i)); });
     }},
    {"log", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::log(1000 * Uniform(6, i)); });
     }},
    {"tanh", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::tanh(8 * Uniform(7, i) - 4); });
     }},
    {"erf", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::erf(8 * Uniform(8, i) - 4); });
     }},
    {"sin", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::sin(131'072 * Uniform(9, i)); });
     }},
    {"pow", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) { return std::pow(1e6, Uniform(10, i)); });
     }},
    {"noise of draws", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) {
         return proto::GumbelNoise(11, 0, static_cast<proto::TokenId>(i));
       });
     }},
    {"tokens drawn of 32", kMillion, &WriteDrawnTokens},
    {"softmax of two labels", kMillion,
     [](std::int64_t count) { WriteScores(count, ScoreKind::kSoftmax); }},
    {"sigmoid", kMillion, [](std::int64_t count) { WriteScores(count, ScoreKind::kSigmoid); }},
    {"probabilities over the vocabulary", kMillion,
     [](std::int64_t count) { WriteScores(count, ScoreKind::kProbability); }},
    {"tanh of a head, as float32", kMillion,
     [](std::int64_t count) {
       WriteEach(count, [](std::int64_t i) {
         return static_cast<float>(std::tanh(8 * Uniform(7, i) - 4));
       });
     }},
    {"RoPE table, theta 10000", kTableSize, [](std::int64_t) { WriteRopeTable({.theta = 1e4}); }},
    {"RoPE table, theta 1000000", kTableSize, [](std::int64_t) { WriteRopeTable({.theta = 1e6}); }},
    {"RoPE table, llama3", kTableSize,
     [](std::int64_t) {
       WriteRopeTable({.type = proto::RopeType::kLlama3,
                       .theta = 5e5,
                       .factor = 8,
                       .original_max_position_embeddings = 8192});
     }},
    {"RoPE table, yarn", kTableSize,
     [](std::int64_t) {
       WriteRopeTable({.type = proto::RopeType::kYarn,
                       .theta = 1e6,
                       .factor = 4,
                       .original_max_position_embeddings = 32768,
                       .attention_factor = 1.1386294361119891});
     }},
};

/// This program in a process of its own, whose results are read.
class Reader {
 public:
  explicit Reader(const std::string& environment)
      : pipe_(popen(("exec env " + environment + " '" +
                     std::filesystem::read_symlink("/proc/self/exe").string() + "' --results")
                        .c_str(),
                    "r"),
              &pclose) {
    if (pipe_ == nullptr) {
      throw std::runtime_error("cannot start a process");
    }
  }

  void Read(std::span<double> results) {
    if (std::fread(results.data(), sizeof(double), results.size(), pipe_.get()) != results.size()) {
      throw std::runtime_error("a process has ended early");
    }
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> pipe_;
};

void PrintComparison() {
  Reader plain("-u GLIBC_TUNABLES");
  Reader without_fma(kWithoutFma);
  std::printf(
      "| results | number | that differ | largest relative difference |\n|---|---|---|---|\n");
  for (const Results& results : kResults) {
    std::int64_t differ = 0;
    double largest = 0;
    std::array<double, 4096> a;
    std::array<double, 4096> b;
    for (std::int64_t done = 0; done < results.count;) {
      const auto size = static_cast<std::size_t>(
          std::min<std::int64_t>(results.count - done, static_cast<std::int64_t>(a.size())));
      plain.Read(std::span(a).first(size));
      without_fma.Read(std::span(b).first(size));
      for (std::size_t i = 0; i < size; ++i) {
        if (std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i])) {
          ++differ;
          largest = std::max(largest, std::abs(a[i] - b[i]) / std::abs(a[i]));
        }
      }
      done += static_cast<std::int64_t>(size);
    }
    std::printf("| %s | %lld | %lld | %.2g |\n", results.name,
                static_cast<long long>(results.count), static_cast<long long>(differ), largest);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2 && std::string_view(argv[1]) == "--results") {
      for (const Results& results : kResults) {
        results.write(results.count);
      }
      return 0;
    }
    if (argc > 1) {
      std::fprintf(stderr, "bench/run math has no flags\n");
      return 2;
    }
    PrintComparison();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
