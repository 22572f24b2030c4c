// doorbell_steps STEP VICTIM: every rank goes through a doorbell's life; rank VICTIM kills itself
// at STEP. doorbell_death_test.cc runs this program and lists the steps.

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>  // Boost 1.74 needs it before asio.hpp.
#include <vector>

#include <boost/asio.hpp>

#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"
#include "shard/exchange/row_exchange.h"
#include "shard/kernels/kernels.h"
#include "shard/runtime/thread_pool.h"
#include "shard/worker/doorbell.h"
#include "shard/worker/doorbell_handshake.h"

namespace {

namespace asio = boost::asio;
namespace proto = scorecast::proto;
namespace shard = scorecast::shard;
using asio::ip::tcp;

/// Size of a pass's exchange.
constexpr std::int64_t kRows = 100;
constexpr std::int64_t kRowBytes = 4096;

[[noreturn]] void Die() {
  std::raise(SIGKILL);
  std::abort();
}

/// Does what Doorbell::Connect does, up to `step`, and dies.
[[noreturn]] void DieWhileConnecting(const std::string& step, const proto::Communicator& group) {
  asio::io_context context;
  tcp::acceptor acceptor(context);
  if (step == "before_listening") {
    Die();
  }
  const shard::Invitation invitation = shard::Invite(group, acceptor);
  if (step == "half_a_hello") {
    std::array<char, sizeof(shard::Hello) / 2> half{};
    if (group.is_root()) {
      tcp::socket socket = acceptor.accept();
      asio::read(socket, asio::buffer(half));
    } else {
      const shard::Hello hello = {invitation.token, group.rank()};
      std::memcpy(half.data(), &hello, half.size());
      tcp::socket socket(context);
      socket.connect({asio::ip::make_address(invitation.addresses.at(0).data()), invitation.port});
      asio::write(socket, asio::buffer(half));
    }
  } else if (step == "after_hello") {
    if (group.is_root()) {
      shard::AcceptRanks(context, acceptor, invitation, group.size(), {});
    } else {
      shard::ConnectToRoot(context, invitation, group.rank(), {});
    }
  }
  Die();  // Also for "listening".
}

/// Runs one plan of `bytes` bytes as PlanRunner does; 0 bytes are the last ring, which has no plan.
/// The rank dies at `step`, if that is in the pass.
void Pass(const std::string& step, const proto::Communicator& group, shard::Doorbell& doorbell,
          shard::RowExchange& exchange, std::size_t bytes) {
  if (group.is_root()) {
    doorbell.RingAll(bytes);
  } else {
    bytes = doorbell.Wait().plan_bytes;
  }
  if (step == (bytes == 0 ? "last_ring" : "after_ring")) {
    Die();
  }
  if (bytes == 0) {
    return;
  }
  std::vector<std::byte> plan(bytes);
  group.Broadcast(plan);
  if (step == "in_pass") {
    Die();
  }
  exchange.ExchangeSummands(exchange.Even(kRows), shard::SummandType::kFloat32);
  exchange.ShareRows(exchange.Even(kRows), {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: doorbell_steps STEP VICTIM\n");
    return 2;
  }
  // mpirun ends a job by SIGTERM, and by SIGKILL some time later. Until then only the doorbell can
  // end a rank.
  std::signal(SIGTERM, SIG_IGN);
  const proto::MpiEnvironment mpi;
  const auto group = proto::Communicator::World();
  const std::string step = group.rank() == std::atoi(argv[2]) ? argv[1] : "";
  for (const char* early : {"before_listening", "listening", "half_a_hello", "after_hello"}) {
    if (step == early) {
      DieWhileConnecting(step, group);
    }
  }
  const auto doorbell = shard::Doorbell::Connect(group);
  shard::ThreadPool pool(1);
  shard::RowExchange exchange(group, {kRows, kRowBytes, kRowBytes},
                              shard::KernelsFor(shard::DetectCpuFeatures()), pool);
  if (step == "before_first_ring") {
    Die();
  }
  Pass("", group, *doorbell, exchange, 1000);
  if (step == "idle") {
    Die();
  }
  if (std::string(argv[1]) == "idle" || std::string(argv[1]) == "before_first_ring") {
    // Rank 0 does not ring again, like a service that waits for clients.
    if (group.is_root()) {
      asio::io_context context;
      asio::steady_timer never(context, asio::steady_timer::time_point::max());
      never.wait();
    }
  }
  Pass(step, group, *doorbell, exchange, 1000);
  Pass(step, group, *doorbell, exchange, 0);
  return 0;
}
