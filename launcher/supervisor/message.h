#pragma once

#include <optional>
#include <string>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

/// What rank 0 and its supervisor send each other over a Unix socket of type SOCK_SEQPACKET: a
/// text, and a descriptor with some of them.
///
///   rank 0      socket NAME PORT HOST   asks for the socket NAME ("requests", "http" or "health"), before
///   the
///                                       model is read; the supervisor binds it to HOST and PORT
///                                       unless it has it
///   supervisor  socket                  the answer, with the descriptor
///   supervisor  error MESSAGE           the answer if the address cannot be had
///   rank 0      listening               it drains on SIGUSR1 from now on, and lets the sockets
///                                       listen that do not listen yet
///   rank 0      ready MILLISECONDS      it serves requests; a drain takes at most this time
///   rank 0      address-file PATH       it has written this file, which the supervisor removes at
///                                       its own end if it is still there
///   rank 0      draining                it accepts no further requests and will end
struct Message {
  std::string text;
  Descriptor descriptor;

  /// The text behind `word` and a space; nothing if the text does not begin with `word`.
  std::optional<std::string> After(const std::string& word) const;
};

/// False if the other side has closed the socket or does not read.
bool Send(int socket, const std::string& text, int descriptor = -1);
/// Waits for a message. Nothing if the other side has closed the socket.
std::optional<Message> Receive(int socket);

/// The contents of rank 0's message `socket`.
struct SocketRequest {
  std::string name;
  std::string host;
  std::uint16_t port = 0;

  std::string ToText() const;
  /// Nothing if the message is another one.
  static std::optional<SocketRequest> FromMessage(const Message& message);
};

}  // namespace scorecast::launcher
