#include "shard/exchange/row_exchange.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/mpi/communicator.h"
#include "proto/plan/rank_work.h"
#include "shard/exchange/add_over_ranks.h"
#include "shard/exchange/host_ranks.h"
#include "shard/exchange/sum_tree.h"
#include "shard/kernels/kernels.h"
#include "shard/runtime/progress.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/bf16.h"
#include "tests/shard/exchange/tree_oracle.h"
#include "tests/shard/resident_pages.h"

namespace {

/// What this rank has sent to others.
struct Sent {
  int messages = 0;
  int bytes = 0;
} sent;

}  // namespace

// Replaces MPI's own function, which is a weak symbol.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int size = 0;
  PMPI_Type_size(type, &size);
  ++sent.messages;
  sent.bytes += count * size;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

namespace scorecast::shard {
namespace row_exchange_test {

/// A sequence of numbers that is different for every rank, row and round of a test, so that
/// misplaced bytes are noticed.
class Pattern {
 public:
  Pattern(std::int64_t round, int rank, std::int64_t row)
      : state_(static_cast<std::uint64_t>(round * 1'000'003 + rank * 10'007 + row + 1) *
               0x9E3779B97F4A7C15U) {}

  std::byte Next() { return static_cast<std::byte>(NextState() >> 24U); }
  /// Of sizes between 1 and 16, so that sums are rounded.
  float NextFloat() {
    const std::uint64_t state = NextState();
    const auto fraction = static_cast<float>(static_cast<std::int32_t>(state >> 20U)) * 0x1p-31F;
    return fraction * static_cast<float>(1U << (state >> 10U) % 5);
  }
  void Write(std::byte* bytes, std::int64_t size) {
    std::generate_n(bytes, size, [this] { return Next(); });
  }
  bool Matches(const std::byte* bytes, std::int64_t size) {
    return std::all_of(bytes, bytes + size, [this](std::byte b) { return b == Next(); });
  }

 private:
  std::uint64_t NextState() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    return state_ ^= state_ << 17U;
  }

  std::uint64_t state_;
};

constexpr int kFinished = -1;  // Replaces the rank of a finished row; planes use lower numbers.

/// Takes time without releasing the core, so that the other ranks run ahead as far as they can.
void Dawdle() {
  for (std::atomic<int> i = 0; i < 500'000; ++i) {
  }
}

/// The point of a round at which a rank dawdles.
enum class Dawdling { kNowhere, kBeforeSummands, kBeforeParts, kBeforeSharing, kBeforeReading };

void DawdleAt(Dawdling here, Dawdling where) {
  if (here == where) {
    Dawdle();
  }
}

/// Bytes of a row: its summands, and its shared part in each plane.
struct Bytes {
  std::int64_t summand;
  std::vector<std::int64_t> shared;

  std::int64_t AllShared() const { return std::accumulate(shared.begin(), shared.end(), 0L); }
};

/// Planes of up to `most` rows each, one behind the other in shared_rows().
std::vector<RowPlane> LayOut(RowExchange& exchange, std::int64_t most, const Bytes& bytes) {
  std::vector<RowPlane> planes;
  std::byte* next = exchange.shared_rows();
  for (const std::int64_t row_bytes : bytes.shared) {
    planes.push_back({next, row_bytes});
    next += most * row_bytes;
  }
  return planes;
}

/// The pattern of a finished row in a plane.
Pattern Finished(std::int64_t round, std::size_t plane, std::int64_t row) {
  return {round, kFinished - static_cast<int>(plane), row};
}

void WriteFinished(const std::vector<RowPlane>& planes, std::int64_t round, proto::Range rows) {
  for (std::size_t p = 0; p < planes.size(); ++p) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      Finished(round, p, row)
          .Write(planes[p].data + row * planes[p].row_bytes, planes[p].row_bytes);
    }
  }
}

std::int64_t CountWrongFinished(const std::vector<RowPlane>& planes, std::int64_t round,
                                proto::Range rows) {
  std::int64_t wrong = 0;
  for (std::size_t p = 0; p < planes.size(); ++p) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::byte* finished = planes[p].data + row * planes[p].row_bytes;
      wrong += Finished(round, p, row).Matches(finished, planes[p].row_bytes) ? 0 : 1;
    }
  }
  return wrong;
}
std::int64_t CountWrongFinished(const std::vector<RowPlane>& planes, std::int64_t round,
                                std::int64_t rows) {
  return CountWrongFinished(planes, round, {0, rows});
}

std::int64_t NumbersOf(const Bytes& bytes, SummandType type) {
  return bytes.summand / BytesOf(type);
}

/// A rank's summands of a row, rounded to the type.
std::vector<float> SummandsOf(std::int64_t round, int rank, std::int64_t row, const Bytes& bytes,
                              SummandType type) {
  Pattern pattern(round, rank, row);
  std::vector<float> numbers(static_cast<std::size_t>(NumbersOf(bytes, type)));
  for (float& x : numbers) {
    x = testing::RoundSummand(type, pattern.NextFloat());
  }
  return numbers;
}

void WriteSummands(const std::vector<float>& numbers, SummandType type, std::byte* to) {
  for (const float x : numbers) {
    if (type == SummandType::kBfloat16) {
      const std::uint16_t bits = testing::ToBf16(x);
      std::memcpy(to, &bits, sizeof(bits));
    } else {
      std::memcpy(to, &x, sizeof(x));
    }
    to += BytesOf(type);
  }
}

/// The numbers of the sum of own row number `own_row` that are not those of the tree. Of long rows,
/// some numbers are compared.
std::int64_t CountWrongSums(const RowExchange& exchange, std::int64_t round, std::int64_t row,
                            std::int64_t own_row, const Bytes& bytes, SummandType type) {
  std::vector<std::vector<float>> of_ranks;
  for (int rank = 0; rank < exchange.ranks(); ++rank) {
    of_ranks.push_back(SummandsOf(round, rank, row, bytes, type));
  }
  std::vector<float> sum(of_ranks.front().size(), 3);
  exchange.AddSummands(own_row, sum);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < sum.size(); i += 1 + sum.size() / 1000) {
    std::vector<float> leaves;
    for (const std::vector<float>& numbers : of_ranks) {
      leaves.push_back(numbers[i]);
    }
    wrong += sum[i] == 3 + testing::TreeRoot(type, leaves) ? 0 : 1;
  }
  return wrong;
}

/// Summands are of both types in turn.
SummandType TypeOf(std::int64_t round) {
  return round % 2 == 0 ? SummandType::kFloat32 : SummandType::kBfloat16;
}

/// Exchanges and shares the owners' rows once, and checks sums and every byte that arrives. A rank
/// that finds a fault continues, because the others would wait for it. Planes have room for `most`
/// rows.
void Round(RowExchange& exchange, std::int64_t round, const RowSlices& owners, std::int64_t most,
           const Bytes& bytes, Dawdling dawdling = Dawdling::kNowhere) {
  const std::vector<RowPlane> planes = LayOut(exchange, most, bytes);
  const std::int64_t rows = owners.rows();
  DawdleAt(Dawdling::kBeforeSummands, dawdling);
  const SummandType type = TypeOf(round);
  for (std::int64_t row = 0; row < rows; ++row) {
    WriteSummands(SummandsOf(round, exchange.rank(), row, bytes, type), type,
                  exchange.summands() + row * bytes.summand);
  }
  exchange.ExchangeSummands(owners, type);
  DawdleAt(Dawdling::kBeforeParts, dawdling);
  const proto::Range own = exchange.Own(owners);
  std::int64_t wrong_sums = 0;
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    wrong_sums += CountWrongSums(exchange, round, row, row - own.begin, bytes, type);
  }
  EXPECT_EQ(wrong_sums, 0) << "round " << round << " of " << rows << " rows";
  DawdleAt(Dawdling::kBeforeSharing, dawdling);
  WriteFinished(planes, round, own);
  exchange.ShareRows(owners, planes);
  DawdleAt(Dawdling::kBeforeReading, dawdling);
  EXPECT_EQ(CountWrongFinished(planes, round, rows), 0)
      << "round " << round << " of " << rows << " rows";
}

/// Random uneven slices of at most `most` rows for each rank; some ranks have none. The same on
/// every rank if `random` is.
RowSlices UnevenOwners(std::mt19937& random, int ranks, std::int64_t most) {
  RowSlices owners{{0}};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto rows = std::uniform_int_distribution<std::int64_t>(-most / 2, most)(random);
    owners.bounds.push_back(owners.bounds.back() + std::max<std::int64_t>(rows, 0));
  }
  return owners;
}

/// The parameter is the number of ranks that share a host; kAsTheyAre is all of them.
class RowExchangeOver : public ::testing::TestWithParam<int> {
 protected:
  RowExchange Make(std::int64_t max_rows, const Bytes& bytes) {
    return {group_, {max_rows, bytes.summand, bytes.AllShared()}, kernels_, pool_, GetParam()};
  }

  /// Ranks that share memory. With three ranks, there are no hosts of two.
  int RanksAHost() const {
    const int asked = GetParam() == RowExchange::kAsTheyAre ? group_.size() : GetParam();
    return group_.size() % asked == 0 ? asked : 1;
  }
  int Hosts() const { return group_.size() / RanksAHost(); }

  const proto::Communicator group_ = proto::Communicator::World();
  const Kernels& kernels_ = KernelsFor(DetectCpuFeatures());
  ThreadPool pool_{2};
};

TEST_P(RowExchangeOver, DescribesItsTransport) {
  const RowExchange exchange = Make(8, {64, {64}});
  if (group_.size() == 1) {
    EXPECT_EQ(exchange.Description(), "one rank");
  } else if (Hosts() == 1) {
    EXPECT_EQ(exchange.Description(), "shared window");
  } else if (RanksAHost() > 1) {
    EXPECT_EQ(exchange.Description(),
              "messages (" + std::to_string(Hosts()) + " hosts of 2 ranks)");
  } else if (GetParam() == 1) {
    EXPECT_EQ(exchange.Description(), "messages (asked for)");
  } else {
    EXPECT_EQ(exchange.Description(), "messages (hosts with different numbers of ranks)");
  }
}

TEST_P(RowExchangeOver, EvenSlicesDifferByOneRowAtMost) {
  const RowExchange exchange = Make(100, {4, {4}});
  for (std::int64_t rows = 0; rows <= 100; ++rows) {
    const RowSlices owners = exchange.Even(rows);
    ASSERT_EQ(owners.bounds.size(), static_cast<std::size_t>(group_.size()) + 1);
    EXPECT_EQ(owners.bounds.front(), 0);
    EXPECT_EQ(owners.rows(), rows);
    for (int rank = 0; rank < group_.size(); ++rank) {
      EXPECT_GE(owners.Of(rank).size(), rows / group_.size());
      EXPECT_LE(owners.Of(rank).size(), (rows + group_.size() - 1) / group_.size());
    }
    EXPECT_EQ(exchange.Own(owners), owners.Of(group_.rank()));
  }
}

// Fewer rows than ranks, no rows, and slices of different sizes. Few rows follow many, so that
// leftover bytes of an earlier round would be noticed.
TEST_P(RowExchangeOver, BringsEveryRowToItsPlace) {
  constexpr std::int64_t kMaxRows = 67;
  const Bytes bytes = {60, {13}};  // Not multiples of each other.
  RowExchange exchange = Make(kMaxRows, bytes);
  std::int64_t round = 0;
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 0, 67, 1, 66, 0, 0, 7, 64, 3, 67, 67, 2, 31, 1}) {
    Round(exchange, round++, exchange.Even(rows), kMaxRows, bytes);
  }
  for (std::int64_t i = 0; i < 150; ++i) {
    Round(exchange, round++, exchange.Even(i * i % (kMaxRows + 1)), kMaxRows, bytes);
  }
}

// The rows that a pass reads stay with their owners, so slices may have any size.
TEST_P(RowExchangeOver, TakesOwnersOfAnyNumberOfRows) {
  constexpr std::int64_t kMostOwn = 9;
  const std::int64_t most = kMostOwn * group_.size();
  const Bytes bytes = {24, {40}};
  RowExchange exchange = Make(most, bytes);
  std::mt19937 random(1);
  std::int64_t round = 0;
  for (; round < 60; ++round) {
    Round(exchange, round, UnevenOwners(random, group_.size(), kMostOwn), most, bytes);
  }
  for (int owner = 0; owner < group_.size(); ++owner) {  // One rank owns all rows.
    RowSlices owners{std::vector<std::int64_t>(static_cast<std::size_t>(owner) + 1, 0)};
    owners.bounds.resize(static_cast<std::size_t>(group_.size()) + 1, kMostOwn);
    Round(exchange, round++, owners, most, bytes);
  }
}

// Planes like those of data and scales, and planes without bytes, which some precisions have.
TEST_P(RowExchangeOver, SharesSeveralPlanes) {
  constexpr std::int64_t kMost = 33;
  constexpr std::int64_t kMostShared = 100;
  RowExchange exchange = Make(kMost, {8, {kMostShared}});
  std::int64_t round = 0;
  for (const std::vector<std::int64_t>& planes :
       {std::vector<std::int64_t>{96, 4}, {96, 0}, {1, 2, 3}, {0, 100}, {0, 0}, {}, {96, 4}}) {
    for (const std::int64_t rows : {33, 5, 0, 1, 32}) {
      Round(exchange, round++, exchange.Even(rows), kMost, {8, planes});
    }
  }
}

// The data of a plane without bytes may be null.
TEST_P(RowExchangeOver, IgnoresPlanesThatAreNull) {
  RowExchange exchange = Make(10, {8, {8}});
  const std::vector<RowPlane> planes = {{nullptr, 0}, {exchange.shared_rows(), 8}, {nullptr, 0}};
  const RowSlices owners = exchange.Even(10);
  exchange.ExchangeSummands(exchange.Even(0), SummandType::kBfloat16);
  WriteFinished(planes, 1, exchange.Own(owners));
  exchange.ShareRows(owners, planes);
  EXPECT_EQ(CountWrongFinished(planes, 1, 10), 0);
}

TEST_P(RowExchangeOver, TakesLargeRows) {
  const Bytes bytes = {(1 << 18) + 4, {(1 << 17) - 1}};
  RowExchange exchange = Make(7, bytes);
  std::int64_t round = 0;
  for (const std::int64_t rows : {7, 1, 6}) {
    Round(exchange, round++, exchange.Even(rows), 7, bytes);
  }
}

// Whichever rank dawdles, and at any point of a round, no other rank reads too early or overwrites
// bytes that are still to be read.
TEST_P(RowExchangeOver, WaitsForRanksThatDawdle) {
  constexpr std::int64_t kMost = 32;
  const Bytes bytes = {96, {48, 4}};
  RowExchange exchange = Make(kMost, bytes);
  std::int64_t round = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    for (int slow = 0; slow < group_.size(); ++slow) {
      for (const Dawdling where : {Dawdling::kBeforeSummands, Dawdling::kBeforeParts,
                                   Dawdling::kBeforeSharing, Dawdling::kBeforeReading}) {
        const Dawdling mine = group_.rank() == slow ? where : Dawdling::kNowhere;
        Round(exchange, round++, exchange.Even(kMost), kMost, bytes, mine);
        Round(exchange, round++, exchange.Even(3), kMost, bytes);
      }
    }
  }
}

// Two parts of a pass take turns, as in Transformer::ForwardLayers: the sums of one travel while
// the summands of the other are written, and so do its shared rows. Whichever rank dawdles, every
// byte arrives.
TEST_P(RowExchangeOver, TwoPartsTakeTurns) {
  constexpr std::int64_t kMost = 45;
  const Bytes bytes = {96, {48, 4}};
  RowExchange exchange = Make(kMost, bytes);
  const std::vector<RowPlane> planes = LayOut(exchange, kMost, bytes);
  std::vector<int> sums_of_part(2, 0);    // Number of the sums that a part has had.
  std::vector<int> shares_of_part(2, 0);  // Number of its shares that have ended.
  int calls = 0;
  int slow_call = 0;
  int slow_rank = 0;
  const auto dawdle = [&] {
    if (++calls == slow_call && group_.rank() == slow_rank) {
      Dawdle();
    }
  };
  for (const auto& [cut, rows] : {std::pair(20, 45), {1, 2}, {0, 7}, {31, 31}, {3, 44}}) {
    const std::vector<proto::Range> parts = {{0, cut}, {cut, rows}};
    const auto round_of = [&](std::size_t part, int number) {
      return (1000 * rows + 2 * number + static_cast<std::int64_t>(part)) * 2;
    };
    const auto begin_exchange = [&](std::size_t part) {
      dawdle();
      for (std::int64_t row = parts[part].begin; row < parts[part].end; ++row) {
        WriteSummands(SummandsOf(round_of(part, sums_of_part[part]), exchange.rank(), row, bytes,
                                 SummandType::kBfloat16),
                      SummandType::kBfloat16, exchange.summands() + row * bytes.summand);
      }
      exchange.BeginExchange(exchange.Even(parts[part]), SummandType::kBfloat16);
    };
    const auto begin_share = [&](std::size_t part) {
      dawdle();
      const proto::Range own = exchange.Own(exchange.Even(parts[part]));
      WriteFinished(planes, round_of(part, sums_of_part[part]), own);
      exchange.BeginShare(exchange.Even(parts[part]), planes);
    };
    const auto end_exchange = [&](std::size_t part) {
      dawdle();
      exchange.EndExchange();
      const proto::Range own = exchange.Own(exchange.Even(parts[part]));
      std::int64_t wrong = 0;
      for (std::int64_t row = own.begin; row < own.end; ++row) {
        wrong += CountWrongSums(exchange, round_of(part, sums_of_part[part]), row, row - own.begin,
                                bytes, SummandType::kBfloat16);
      }
      EXPECT_EQ(wrong, 0) << "part " << part << " of " << rows << " rows";
      ++sums_of_part[part];
    };
    const auto end_share = [&](std::size_t part) {
      dawdle();
      exchange.EndShare();
      EXPECT_EQ(CountWrongFinished(planes, round_of(part, ++shares_of_part[part]), parts[part]), 0)
          << "part " << part << " of " << rows << " rows";
    };
    // Each rank dawdles at every third call, of one number of rows only, which is enough time.
    const bool is_slow = rows == kMost;
    for (slow_rank = 0; slow_rank < (is_slow ? group_.size() : 1); ++slow_rank) {
      for (slow_call = 1 + slow_rank % 3; slow_call <= (is_slow ? 18 : 3); slow_call += 3) {
        calls = 0;
        sums_of_part = {1, 1};
        shares_of_part = {0, 0};
        exchange.ExchangeSummands(exchange.Even(0), SummandType::kBfloat16);
        begin_share(0);
        begin_share(1);
        for (int turn = 0; turn < 2; ++turn) {
          for (const std::size_t part : {0U, 1U}) {
            end_share(part);
            if (turn > 0 || part > 0) {
              end_exchange(1 - part);
              begin_share(1 - part);
            }
            begin_exchange(part);
          }
        }
        end_exchange(1);
        end_share(0);
        EXPECT_EQ(calls, 18);
      }
    }
  }
}

// Rows may be shared without an exchange of summands before, and their number may change from one
// time to the next.
TEST_P(RowExchangeOver, SharesRowsThatHaveNoSummands) {
  constexpr std::int64_t kRows = 9;
  const Bytes bytes = {4, {40}};
  RowExchange exchange = Make(kRows, bytes);
  const std::vector<RowPlane> planes = LayOut(exchange, kRows, bytes);
  for (std::int64_t round = 0; round < 20; ++round) {
    exchange.ExchangeSummands(exchange.Even(0), SummandType::kBfloat16);
    const RowSlices owners = exchange.Even(kRows - round % 2);
    WriteFinished(planes, round, exchange.Own(owners));
    exchange.ShareRows(owners, planes);
    EXPECT_EQ(CountWrongFinished(planes, round, owners.rows()), 0);
  }
}

// More numbers than a row of summands or the place for the sums has, while other rows are shared.
TEST_P(RowExchangeOver, AddsUpNumbers) {
  constexpr std::int64_t kRows = 6;
  const Bytes bytes = {24, {40}};
  RowExchange exchange = Make(2 * kRows, bytes);
  const std::vector<RowPlane> planes = LayOut(exchange, kRows, bytes);
  Round(exchange, 1, exchange.Even(kRows), kRows, bytes);
  auto* const behind = reinterpret_cast<float*>(exchange.shared_rows() + kRows * 40);
  for (const std::size_t places : {1U, 4U, 20U}) {
    std::vector<float> numbers(23);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(i) + 100 * static_cast<float>(exchange.rank());
    }
    AddOverRanks(exchange, bytes.summand, {behind, places}, numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const int others = exchange.ranks() * (exchange.ranks() - 1) / 2;
      EXPECT_EQ(numbers[i],
                static_cast<float>(static_cast<int>(i) * exchange.ranks() + 100 * others));
    }
    EXPECT_EQ(CountWrongFinished(planes, 1, kRows), 0);
  }
}

/// Blocks of ranks, in order: 1, 2, 3, 0, 1, … each.
std::vector<proto::Range> BlocksOfRanks(int ranks) {
  std::vector<proto::Range> of_rank;
  std::int64_t end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int64_t begin = end;
    end += (rank + 1) % 4;
    of_rank.push_back({begin, end});
  }
  return of_rank;
}

// Ranks hold different numbers of blocks, and blocks that are no node of the tree. Two trees are
// used in turn. The last sums are those of few numbers.
TEST_P(RowExchangeOver, AddsUpBlocks) {
  constexpr std::int64_t kRows = 11;
  constexpr std::int64_t kNumbers = 6;
  const std::vector<proto::Range> one_each = [&] {
    std::vector<proto::Range> of_rank;
    for (int rank = 0; rank < group_.size(); ++rank) {
      of_rank.push_back({rank, rank + 1});
    }
    return of_rank;
  }();
  const std::vector<std::vector<proto::Range>> of_ranks = {one_each, BlocksOfRanks(group_.size())};
  const std::vector<SumTree> trees = {SumTree::OfBlocks(of_ranks[0]),
                                      SumTree::OfBlocks(of_ranks[1])};
  RowExchange exchange(group_, {kRows, 4 * kNumbers, 64}, kernels_, pool_, GetParam(), trees);
  const auto block_numbers = [](std::int64_t round, std::int64_t row, std::int64_t number,
                                std::int64_t blocks) {
    std::vector<float> numbers;
    for (std::int64_t block = 0; block < blocks; ++block) {
      Pattern pattern(round, static_cast<int>(block), row * kNumbers + number);
      numbers.push_back(pattern.NextFloat());
    }
    return numbers;
  };
  const RowSlices owners = exchange.Even(kRows);
  for (std::int64_t round = 0; round < 6; ++round) {
    const auto tree = static_cast<std::size_t>(round % 2);
    const std::int64_t blocks = of_ranks[tree].back().end;
    const proto::Range own_blocks = of_ranks[tree][static_cast<std::size_t>(group_.rank())];
    const std::vector<proto::Range> nodes = trees[tree].NodesOf(own_blocks);
    ASSERT_EQ(std::ssize(nodes), exchange.Nodes(tree));
    auto* const summands = reinterpret_cast<float*>(exchange.summands());
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t node = 0; node < std::ssize(nodes); ++node) {
        const proto::Range of_node = nodes[static_cast<std::size_t>(node)];
        for (std::int64_t number = 0; number < kNumbers; ++number) {
          summands[(row * exchange.most_nodes() + node) * kNumbers + number] = testing::BlockNode(
              block_numbers(round, row, number, blocks), static_cast<std::size_t>(of_node.begin),
              static_cast<std::size_t>(of_node.end));
        }
      }
    }
    exchange.ExchangeSummands(owners, SummandType::kFloat32, tree);
    const proto::Range own = exchange.Own(owners);
    for (std::int64_t row = own.begin; row < own.end; ++row) {
      std::vector<float> sum(kNumbers, 3);
      exchange.AddSummands(row - own.begin, sum);
      for (std::int64_t number = 0; number < kNumbers; ++number) {
        const std::vector<float> numbers = block_numbers(round, row, number, blocks);
        EXPECT_EQ(sum[static_cast<std::size_t>(number)],
                  3 + testing::BlockNode(numbers, 0, numbers.size()))
            << "round " << round << ", row " << row;
      }
    }
    exchange.ShareRows(owners, {});
  }
  std::vector<float> numbers(9, static_cast<float>(group_.rank() + 1));
  AddOverRanks(exchange, 4 * kNumbers, {reinterpret_cast<float*>(exchange.shared_rows()), 4},
               numbers);
  const int sum = group_.size() * (group_.size() + 1) / 2;
  EXPECT_EQ(numbers, std::vector<float>(9, static_cast<float>(sum)));
}

// Two exchanges and the group's other messages do not disturb each other.
TEST_P(RowExchangeOver, WorksBesideOtherTraffic) {
  constexpr std::int64_t kMost = 10;
  const Bytes bytes = {24, {8}};
  RowExchange first = Make(kMost, bytes);
  RowExchange second = Make(kMost, bytes);
  for (std::int64_t round = 0; round < 50; ++round) {
    std::vector<std::byte> plan(1 << 15, group_.is_root() ? std::byte{7} : std::byte{0});
    group_.Broadcast(plan);
    Round(first, 2 * round, first.Even(kMost), kMost, bytes);
    Round(second, 2 * round + 1, second.Even(round % (kMost + 1)), kMost, bytes);
    EXPECT_EQ(std::count(plan.begin(), plan.end(), std::byte{7}), 1 << 15);
  }
}

TEST_P(RowExchangeOver, CountsTheBytesOfOtherRanks) {
  constexpr std::int64_t kMost = 50;
  const Bytes bytes = {60, {20, 0, 4}};
  Progress progress;
  RowExchange exchange = Make(kMost, bytes);
  exchange.ReportTo(progress);
  std::int64_t exchanged = 0;
  std::int64_t shared = 0;
  for (const std::int64_t rows : {50, 0, 1, 7}) {
    const RowSlices owners = exchange.Even(rows);
    Round(exchange, rows, owners, kMost, bytes);
    const std::int64_t own = exchange.Own(owners).size();
    std::int64_t of_lane = 0;  // Rows that this rank adds up: only own rows if there is one host.
    for (int host = 0; host < Hosts(); ++host) {
      of_lane += owners.Of(host * RanksAHost() + group_.rank() % RanksAHost()).size();
    }
    exchanged += ((RanksAHost() - 1) * of_lane + (Hosts() - 1) * own) * bytes.summand;
    shared += (rows - own) * bytes.AllShared();
    EXPECT_EQ(exchange.cost().bytes, exchanged + shared);
  }
  const proto::RankWork work = progress.Work();
  const auto counted = [&work](proto::RankOperation operation) {
    return static_cast<std::int64_t>(work.of(operation).bytes);
  };
  EXPECT_EQ(counted(proto::RankOperation::kExchange), exchanged);
  EXPECT_EQ(counted(proto::RankOperation::kShare), shared);
  EXPECT_NEAR(work.wait_seconds(), exchange.cost().wait_seconds + exchange.cost().transfer_seconds,
              1e-6);
  // Ranks of a host wait for each other; a message's time includes the waiting for it.
  EXPECT_EQ(exchange.cost().wait_seconds > 0, RanksAHost() > 1);
  EXPECT_EQ(exchange.cost().transfer_seconds > 0, Hosts() > 1);
}

// Each row's sums and the finished row cross the network once, however many ranks a host has.
TEST_P(RowExchangeOver, SendsEachRowOnceToAHost) {
  constexpr std::int64_t kMost = 40;
  const Bytes bytes = {60, {20, 0, 4}};
  RowExchange exchange = Make(kMost, bytes);
  const auto sum_of = [this](int mine) {
    const std::vector<int> all = group_.AllGather(mine);
    return std::accumulate(all.begin(), all.end(), 0);
  };
  for (const int rows : {40, 1, 0}) {
    sent = {};
    Round(exchange, rows, exchange.Even(rows), kMost, bytes);
    EXPECT_EQ(sum_of(sent.bytes), rows * (Hosts() - 1) * (60 + 24));
    // One of sums and one of each plane from each rank to each other one of its lane, if it has
    // rows.
    const int owners = std::min(rows, group_.size());
    EXPECT_EQ(sum_of(sent.messages), 3 * owners * (Hosts() - 1));
  }
}

/// A figure of /proc/self/status, in bytes.
std::int64_t Status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoll(line.substr(name.size() + 1)) * 1024;
    }
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST_P(RowExchangeOver, TouchesOnlyThePagesThatAreUsed) {
  testing::DisableHugePages();
  const Bytes bytes = {1024, {512}};
  constexpr std::int64_t kMaxRows = 32 * 1024;
  const std::int64_t most_touched = kMaxRows * bytes.AllShared() / 2;
  const std::int64_t before = Status("RssAnon") + Status("RssShmem");
  RowExchange exchange = Make(kMaxRows, bytes);
  Round(exchange, 0, exchange.Even(10), kMaxRows, bytes);
  EXPECT_LT(Status("RssAnon") + Status("RssShmem") - before, most_touched);
}

// Exchanges of no more rows than were touched cost no new pages on any rank. Larger ones do.
TEST_P(RowExchangeOver, TouchesPagesBeforeTheyAreUsed) {
  testing::DisableHugePages();
  const Bytes bytes = {1024, {512}};
  constexpr std::int64_t kTouched = 1024;
  constexpr std::int64_t kMaxRows = 4 * kTouched;
  RowExchange exchange = Make(kMaxRows, bytes);
  const auto resident = [] { return Status("RssAnon") + Status("RssShmem"); };
  const std::int64_t before = resident();
  exchange.Touch(kTouched);
  const std::int64_t touched = resident();
  EXPECT_GE(touched - before, kTouched * (bytes.summand + bytes.AllShared()) * 9 / 10);
  for (const std::int64_t rows : {kTouched, std::int64_t{1}, kTouched / 2}) {
    Round(exchange, rows, exchange.Even(rows), kTouched, bytes);
  }
  EXPECT_LT(resident() - touched, kTouched * bytes.AllShared() / 2);
  const std::int64_t used = resident();
  Round(exchange, 0, exchange.Even(kMaxRows), kMaxRows, bytes);
  EXPECT_GT(resident() - used, kTouched * bytes.AllShared());
}

INSTANTIATE_TEST_SUITE_P(RanksAHost, RowExchangeOver,
                         ::testing::Values(RowExchange::kAsTheyAre, 1, 2),
                         ::testing::PrintToStringParamName());

// Hosts of consecutive ranks, and hosts that get ranks in turn.
TEST(HostRanks, AreANodeOfTheTree) {
  const proto::Communicator group = proto::Communicator::World();
  const auto found = [&group](int host) {
    auto ranks = RanksOfEachHost(group, group.Split(host));
    return ranks ? std::to_string(*ranks) : ranks.error();
  };
  if (group.size() > 1) {
    EXPECT_EQ(found(0), std::to_string(group.size()));
    EXPECT_EQ(found(group.rank()), "several hosts");
  }
  if (group.size() == 3) {
    EXPECT_EQ(found(group.rank() / 2), "hosts with different numbers of ranks");
  }
  if (group.size() == 4) {
    EXPECT_EQ(found(group.rank() / 2), "2");
    EXPECT_EQ(found(group.rank() % 2), "the ranks of a host are not consecutive");
    // Two hosts of two ranks, of which none begins at a multiple of two.
    EXPECT_EQ(found((group.rank() + 1) % 4 / 2), "the ranks of a host are not consecutive");
  }
  if (group.size() == 6) {
    EXPECT_EQ(found(group.rank() / 2), "2");
    EXPECT_EQ(found(group.rank() / 3), "3 ranks a host, which is no power of two");
  }
}

// A rank that is alone may have no summands. Its shared rows are touched all the same.
TEST(RowExchangeOfOneRank, DoesWithoutSummands) {
  const proto::Communicator group = proto::Communicator::World();
  if (group.size() > 1) {
    return;
  }
  testing::DisableHugePages();
  constexpr std::int64_t kRows = 1024;
  ThreadPool pool(1);
  RowExchange exchange(group, {.max_rows = kRows, .summand_bytes = 0, .shared_bytes = 512},
                       KernelsFor(DetectCpuFeatures()), pool);
  exchange.Touch(kRows / 2);
  const testing::PageCount pages =
      testing::CountPages({exchange.shared_rows(), static_cast<std::size_t>(kRows * 512)});
  EXPECT_EQ(2 * pages.resident, pages.all);
  const RowSlices owners = exchange.Even(kRows);
  const std::vector<RowPlane> planes = {{exchange.shared_rows(), 512}};
  exchange.ExchangeSummands(owners, SummandType::kFloat32);
  WriteFinished(planes, 1, exchange.Own(owners));
  exchange.ShareRows(owners, planes);
  EXPECT_EQ(CountWrongFinished(planes, 1, kRows), 0);
}

// The window's file is unlinked at once, so that no file stays, however the ranks end.
TEST(RowExchangeWindow, HasNoName) {
  const proto::Communicator group = proto::Communicator::World();
  ThreadPool pool(1);
  const RowExchange exchange(group, {100, 1024, 1024}, KernelsFor(DetectCpuFeatures()), pool);
  std::vector<std::string> windows;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/osc_sm.") != std::string::npos) {
      windows.push_back(line);
    }
  }
  EXPECT_EQ(windows.empty(), group.size() == 1);
  EXPECT_THAT(windows, ::testing::Each(::testing::EndsWith(" (deleted)")));
}

// If the window's file system is too small, every rank uses messages from the start.
TEST(RowExchangeWindow, IsNotMadeWithoutTheSpace) {
  const proto::Communicator group = proto::Communicator::World();
  const Bytes bytes = {1 << 20, {16}};
  constexpr std::int64_t kTebibyte = 1 << 20;  // The number of such rows in a TiB.
  ThreadPool pool(1);
  RowExchange exchange(group, {kTebibyte, bytes.summand, bytes.AllShared()},
                       KernelsFor(DetectCpuFeatures()), pool);
  EXPECT_NE(exchange.Description(), "shared window");
  if (group.size() > 1) {
    EXPECT_THAT(exchange.Description(),
                ::testing::MatchesRegex("messages \\(.* has [0-9]+ MiB free, not [0-9]+\\)"));
  }
  Round(exchange, 0, exchange.Even(5), kTebibyte, bytes);
}

}  // namespace row_exchange_test
}  // namespace scorecast::shard
