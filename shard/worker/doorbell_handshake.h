#pragma once

#include <array>
#include <cstdint>
#include <utility>  // Boost 1.74 needs it before its own.
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "proto/mpi/communicator.h"
#include "shard/worker/doorbell.h"

namespace scorecast::shard {

using Token = std::array<std::uint8_t, 16>;

/// The addresses at which rank 0 listens, and the tokens by which each side proves itself. The
/// other ranks get them over MPI, so that no other program knows the tokens.
struct Invitation {
  Token token{};  ///< Sent first, by the rank that connects.
  /// Sent back by rank 0, because another program may be listening at one of its addresses.
  Token root_token{};
  std::uint16_t port = 0;
  std::vector<std::array<char, 16>> addresses;  ///< IPv4 in dots, padded with zeros.
};

/// The first bytes that a rank sends. All ranks run the same build on one kind of machine.
struct Hello {
  Token token{};
  std::int32_t rank = 0;
};

/// Collective. Rank 0 listens, on loopback if all ranks are on its host, and sends its invitation
/// to the others. Opens `acceptor` on rank 0 only. StartupError, on every rank, if it cannot
/// listen.
Invitation Invite(const proto::Communicator& group, boost::asio::ip::tcp::acceptor& acceptor);

/// On rank 0: accepts connections until every other rank has proved itself, and returns them in
/// rank order: [ranks - 1]. All handshakes run at the same time, so that a foreign connection
/// delays no rank. Closes the acceptor. StartupError if a rank does not connect.
std::vector<boost::asio::ip::tcp::socket> AcceptRanks(boost::asio::io_context& context,
                                                      boost::asio::ip::tcp::acceptor& acceptor,
                                                      const Invitation& invitation, int ranks,
                                                      const HandshakeTimes& times);

/// On the other ranks: tries all addresses at the same time, and returns the connection on which
/// rank 0 proves itself. StartupError if there is none.
boost::asio::ip::tcp::socket ConnectToRoot(boost::asio::io_context& context,
                                           const Invitation& invitation, int rank,
                                           const HandshakeTimes& times);

}  // namespace scorecast::shard
