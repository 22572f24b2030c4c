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

/// Where rank 0 listens, and what each side proves itself with. Goes to the other ranks over MPI,
/// so that nobody else knows it.
struct Invitation {
  Token token{};   ///< Said by a rank that connects.
  Token answer{};  ///< Said by rank 0 then: a rank may reach a stranger at one of its addresses.
  std::uint16_t port = 0;
  std::vector<std::array<char, 16>> addresses;  ///< IPv4 in dots, with zeros behind.
};

/// What a rank says first. All ranks run the same build on one kind of machine.
struct Hello {
  Token token{};
  std::int32_t rank = 0;
};

/// Collective. Rank 0 listens, on loopback where all ranks are on its host, and tells the others.
/// `acceptor` is opened on rank 0 only. StartupError, on every rank, where it cannot.
Invitation Invite(const proto::Communicator& group, boost::asio::ip::tcp::acceptor& acceptor);

/// Rank 0: accepts until every other rank has proved itself: [ranks - 1], in rank order. All
/// handshakes go on at once, so that strangers delay nobody. Closes the acceptor. StartupError
/// where a rank does not come.
std::vector<boost::asio::ip::tcp::socket> AcceptRanks(boost::asio::io_context& context,
                                                      boost::asio::ip::tcp::acceptor& acceptor,
                                                      const Invitation& invitation, int ranks,
                                                      const HandshakeTimes& times);

/// The others: tries all addresses at once, and takes the connection on which rank 0 proves itself.
/// StartupError where none does.
boost::asio::ip::tcp::socket ConnectToRoot(boost::asio::io_context& context,
                                           const Invitation& invitation, int rank,
                                           const HandshakeTimes& times);

}  // namespace scorecast::shard
