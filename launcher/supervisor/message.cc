#include "launcher/supervisor/message.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

namespace scorecast::launcher {
namespace {

constexpr std::size_t kLargestMessage = 4096;

}  // namespace

std::optional<std::string> Message::After(const std::string& word) const {
  if (text == word) {
    return "";
  }
  if (text.starts_with(word + " ")) {
    return text.substr(word.size() + 1);
  }
  return std::nullopt;
}

bool Send(int socket, const std::string& text, int descriptor) {
  iovec bytes = {const_cast<char*>(text.data()), std::min(text.size(), kLargestMessage)};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (descriptor >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

std::optional<Message> Receive(int socket) {
  std::array<char, kLargestMessage> buffer{};
  iovec bytes = {buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &bytes;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received <= 0) {
    return std::nullopt;
  }
  Message message;
  message.text.assign(buffer.data(), static_cast<std::size_t>(received));
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(rights), sizeof(int));
    message.descriptor = Descriptor(descriptor);
  }
  return message;
}

std::string SocketRequest::ToText() const {
  return "socket " + name + " " + std::to_string(port) + " " + host;
}

std::optional<SocketRequest> SocketRequest::FromMessage(const Message& message) {
  const std::optional<std::string> rest = message.After("socket");
  if (!rest) {
    return std::nullopt;
  }
  const std::size_t name_end = rest->find(' ');
  const std::size_t port_end = rest->find(' ', name_end + 1);
  if (name_end == std::string::npos || port_end == std::string::npos) {
    return std::nullopt;
  }
  SocketRequest request = {rest->substr(0, name_end), rest->substr(port_end + 1), 0};
  const char* end = rest->data() + port_end;
  const auto [parsed, error] = std::from_chars(rest->data() + name_end + 1, end, request.port);
  if (error != std::errc() || parsed != end) {
    return std::nullopt;
  }
  return request;
}

}  // namespace scorecast::launcher
