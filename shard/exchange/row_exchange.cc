#include "shard/exchange/row_exchange.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <utility>

#include "proto/base/check.h"
#include "proto/base/count.h"
#include "proto/base/expected.h"
#include "shard/exchange/host_ranks.h"
#include "shard/exchange/shared_window.h"

namespace scorecast::shard {
namespace {

/// Rows of a host's sums that one task adds up.
constexpr std::int64_t kRowsPerTask = 4;

/// A window on each host. If one of the hosts has none, none has, and every rank gets the reason.
proto::Expected<std::unique_ptr<SharedWindow>, std::string> MakeWindows(
    const proto::Communicator& group, const proto::Communicator& host, const RowSizes& sizes) {
  std::unique_ptr<SharedWindow> window;
  std::string obstacle;
  proto::StartupPhase(group, [&] {
    auto made =
        SharedWindow::Make(host, static_cast<std::size_t>(sizes.max_rows * sizes.summand_bytes),
                           static_cast<std::size_t>(sizes.max_rows * sizes.shared_bytes));
    if (made) {
      window = std::move(*made);
    } else {
      obstacle = made.error();
    }
  });
  for (std::string& text : group.AllGather(obstacle)) {
    if (!text.empty()) {
      return proto::Unexpected(std::move(text));
    }
  }
  return window;
}

}  // namespace

RowExchange::RowExchange(const proto::Communicator& group, const RowSizes& sizes,
                         const Kernels& kernels, ThreadPool& pool, int ranks_a_host,
                         std::vector<SumTree> trees)
    : sizes_(sizes),
      rank_(group.rank()),
      ranks_(group.size()),
      pool_(pool),
      kernels_(kernels),
      tree_(kernels, SummandType::kFloat32) {
  proto::Check(ranks_ == 1 || sizes.summand_bytes > 0, "ranks of a group exchange summands");
  const bool in_blocks = !trees.empty();
  if (!in_blocks) {
    trees.push_back(SumTree::OfRanks(ranks_));
  }
  RowSizes all_nodes = Divide(trees, /*ranks_a_host=*/1);
  std::string obstacle = "asked for";
  if (ranks_ > 1 && ranks_a_host != 1) {
    const proto::Communicator host =
        ranks_a_host == kAsTheyAre ? group.OnThisHost() : group.Split(rank_ / ranks_a_host);
    const auto ranks_of_each = RanksOfEachHost(group, host, /*powers_of_two=*/!in_blocks);
    if (ranks_of_each) {
      all_nodes = Divide(trees, *ranks_of_each);
    }
    auto window = ranks_of_each ? MakeWindows(group, host, all_nodes)
                                : proto::Unexpected(ranks_of_each.error());
    if (window) {
      lane_ = host.rank();
      memory_ = std::make_unique<HostMemory>(std::move(*window), lane_, ranks_a_host_, all_nodes);
    } else {
      obstacle = window.error();
      all_nodes = Divide(trees, /*ranks_a_host=*/1);
    }
  }
  if (!memory_) {
    proto::StartupPhase(group, [&] { memory_ = std::make_unique<HostMemory>(all_nodes); });
  }
  const int hosts = ranks_ / ranks_a_host_;
  if (hosts > 1) {
    messages_ = std::make_unique<RowMessages>(group, ranks_a_host_, all_nodes);
  }
  if (ranks_ == 1) {
    description_ = "one rank";
  } else if (hosts == 1) {
    description_ = "shared window";
  } else if (ranks_a_host_ > 1) {
    description_ = "messages (" + proto::Count(static_cast<std::size_t>(hosts), "host") + " of " +
                   proto::Count(static_cast<std::size_t>(ranks_a_host_), "rank") + ")";
  } else {
    description_ = "messages (" + obstacle + ")";
  }
}

RowSizes RowExchange::Divide(const std::vector<SumTree>& trees, int ranks_a_host) {
  ranks_a_host_ = ranks_a_host;
  most_nodes_ = 1;
  parts_.clear();
  for (const SumTree& tree : trees) {
    parts_.emplace_back(tree, ranks_a_host, rank_ / ranks_a_host);
    most_nodes_ = std::max(most_nodes_, parts_.back().most_nodes());
  }
  RowSizes sizes = sizes_;
  sizes.summand_bytes *= most_nodes_;
  proto::Check(0 <= sizes.max_rows && sizes.max_rows <= INT_MAX && 0 <= sizes.summand_bytes &&
                   sizes.summand_bytes <= INT_MAX && 0 < sizes.shared_bytes &&
                   sizes.shared_bytes <= INT_MAX,
               "rows have bytes, and neither these nor the number of rows exceed INT_MAX");
  return sizes;
}

RowSlices RowExchange::Even(proto::Range rows) const {
  RowSlices slices;
  for (int rank = 0; rank <= ranks_; ++rank) {
    slices.bounds.push_back(rows.begin + rows.size() * rank / ranks_);
  }
  return slices;
}

void RowExchange::CheckRows(const RowSlices& owners) const {
  proto::Check(static_cast<int>(owners.bounds.size()) == ranks_ + 1 && owners.bounds.front() >= 0 &&
                   std::ranges::is_sorted(owners.bounds) && owners.bounds.back() <= sizes_.max_rows,
               "every row has one owner, and the rows fit the exchange's buffers");
}

void RowExchange::Touch(std::int64_t rows) {
  proto::Check(rows <= sizes_.max_rows, "rows that are touched fit the exchange's buffers");
  memory_->Touch(rows, pool_);
  if (messages_) {
    messages_->Touch(rows, pool_);
  }
}

void RowExchange::BeginExchange(const RowSlices& owners, SummandType type, std::size_t tree) {
  proto::Check(!is_exchanging_, "one exchange of summands is under way at a time");
  CheckRows(owners);
  proto::Check(Own(owners).size() <= sizes_.MostOwnRows(ranks_),
               "no rank owns more rows than its even share of the largest number");
  is_exchanging_ = true;
  tree_ = TreeSum(kernels_, type);
  const SumParts& parts = parts_[tree];
  Timed(proto::RankOperation::kExchange, BytesOfSummands(owners, parts), [&] {
    Barrier();
    if (messages_ && owners.rows() > 0) {
      SendSums(owners, parts);
    }
  });
  PollBetweenTasks();
  own_parts_.clear();
  for (const SumPart& part : parts.of_sum()) {
    own_parts_.push_back({Place(part, Own(owners).begin), part.joins});
  }
}

std::int64_t RowExchange::SummandsStride() const { return most_nodes_ * sizes_.summand_bytes; }

const std::byte* RowExchange::Place(const SumPart& part, std::int64_t first_row) const {
  const std::byte* rows = part.is_received
                              ? messages_->sums_of(part.source)
                              : memory_->summands(part.source) + first_row * SummandsStride();
  return rows + part.node * sizes_.summand_bytes;
}

void RowExchange::SendSums(const RowSlices& owners, const SumParts& parts) {
  const std::int64_t stride = SummandsStride();
  std::vector<std::vector<SummandRows>> nodes;  // What each of this host's nodes consists of.
  for (const std::vector<SumPart>& of_node : parts.of_host()) {
    std::vector<SummandRows>& node = nodes.emplace_back();
    for (const SumPart& part : of_node) {
      node.push_back({Place(part, 0), part.joins});
    }
  }
  messages_->BeginReceiving(owners);
  // Every host begins with the next one, so that not all send to the first at once.
  for (int step = 1; step < messages_->hosts(); ++step) {
    const int host = (messages_->own_host() + step) % messages_->hosts();
    const proto::Range rows = messages_->OfLane(owners, host);
    if (ranks_a_host_ == 1) {
      messages_->SendSums(host, memory_->summands(lane_) + rows.begin * stride, rows.size());
      continue;
    }
    std::byte* sums = messages_->RoomFor(rows.size());
    const std::int64_t numbers = sizes_.summand_bytes / BytesOf(tree_.type());
    pool_.ParallelFor((rows.size() + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
      const std::int64_t begin = rows.begin + task * kRowsPerTask;
      const std::int64_t end = std::min(rows.end, begin + kRowsPerTask);
      for (std::int64_t row = begin; row < end; ++row) {
        std::byte* to = sums + (row - rows.begin) * stride;
        for (const std::vector<SummandRows>& node : nodes) {
          tree_.WriteNode(node, row * stride, numbers, to);
          to += sizes_.summand_bytes;
        }
      }
    });
    messages_->SendSums(host, sums, rows.size());
  }
}

void RowExchange::EndExchange() {
  proto::Check(is_exchanging_, "an exchange that ends was begun");
  is_exchanging_ = false;
  Timed(proto::RankOperation::kExchange, 0, [&] {
    if (messages_) {
      messages_->EndSums();
    }
  });
  PollBetweenTasks();
}

void RowExchange::AddSummands(std::int64_t own_row, std::span<float> sum) const {
  tree_.AddTo(own_parts_, own_row * SummandsStride(), sum);
}

void RowExchange::BeginShare(const RowSlices& owners, std::span<const RowPlane> planes) {
  proto::Check(!is_exchanging_, "rows are shared when their sums are there");
  CheckRows(owners);
  ++shares_;
  std::int64_t row_bytes = 0;
  for (const RowPlane& plane : planes) {
    row_bytes += plane.row_bytes;
  }
  Timed(proto::RankOperation::kShare, (owners.rows() - Own(owners).size()) * row_bytes, [&] {
    if (messages_) {
      messages_->BeginShare(owners, planes);
    }
  });
  PollBetweenTasks();
}

void RowExchange::EndShare() {
  proto::Check(shares_ > 0, "a share that ends was begun");
  --shares_;
  Timed(proto::RankOperation::kShare, 0, [&] {
    if (messages_) {
      messages_->EndShare();
    }
    Barrier();
  });
  PollBetweenTasks();
}

void RowExchange::PollBetweenTasks() {
  if (!messages_) {
    return;
  }
  cost_.transfer_seconds += messages_->TakePollSeconds();
  if (messages_->AreUnderWay()) {
    // The exchange may be moved, but its messages stay in their place.
    pool_.CallBetweenTasks([messages = messages_.get()] { messages->Poll(); });
  } else {
    pool_.CallBetweenTasks({});
  }
}

std::int64_t RowExchange::BytesOfSummands(const RowSlices& owners, const SumParts& parts) const {
  const std::int64_t own = Own(owners).size();
  const auto of_others = std::ranges::count_if(parts.of_sum(), [&](const SumPart& part) {
    return !part.is_received && part.source != lane_;
  });
  if (!messages_) {
    return of_others * own * sizes_.summand_bytes;
  }
  std::int64_t of_lane = 0;
  for (int host = 0; host < messages_->hosts(); ++host) {
    of_lane += messages_->OfLane(owners, host).size();
  }
  return (messages_->hosts() - 1) * own * SummandsStride() +
         of_others * of_lane * sizes_.summand_bytes;
}

void RowExchange::Barrier() {
  const auto begin = std::chrono::steady_clock::now();
  memory_->Barrier();
  if (memory_->is_shared()) {
    cost_.wait_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
}

template <typename Call>
void RowExchange::Timed(proto::RankOperation operation, std::int64_t bytes, const Call& call) {
  if (ranks_ == 1) {
    if (progress_ != nullptr) {
      progress_->NextStep();
    }
    return;
  }
  const double waited = cost_.wait_seconds;
  const auto begin = std::chrono::steady_clock::now();
  if (progress_ != nullptr) {
    progress_->BeginWait(begin);
  }
  call();
  const auto end = std::chrono::steady_clock::now();
  if (progress_ != nullptr) {
    progress_->EndWait(end, operation, static_cast<std::uint64_t>(bytes));
  }
  const double took = std::chrono::duration<double>(end - begin).count();
  if (messages_) {
    cost_.transfer_seconds += took - (cost_.wait_seconds - waited);
  } else {
    cost_.wait_seconds = waited + took;
  }
  cost_.bytes += bytes;
}

}  // namespace scorecast::shard
