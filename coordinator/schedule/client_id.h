#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace scorecast::coordinator {

/// The text of an address, or any other name of a client. Never changes, and copies share it: a
/// client's name is stored once, however many parts of the program know the client. It is compared,
/// never parsed.
class ClientName {
 public:
  ClientName() = default;
  ClientName(std::string text)  // NOLINT(google-explicit-constructor)
      : text_(std::make_shared<const std::string>(std::move(text))) {}
  ClientName(const char* text)  // NOLINT(google-explicit-constructor)
      : ClientName(std::string(text)) {}

  std::string_view text() const { return text_ == nullptr ? std::string_view() : *text_; }
  operator std::string_view() const { return text(); }  // NOLINT(google-explicit-constructor)

  bool operator==(const ClientName& other) const { return (*this <=> other) == 0; }
  std::strong_ordering operator<=>(const ClientName& other) const {
    return text_ == other.text_ ? std::strong_ordering::equal : text() <=> other.text();
  }

 private:
  std::shared_ptr<const std::string> text_;
};

/// A client: the address that its connections count for, one of these connections, and the network
/// that the address is in. Jobs that come over no connection have number 0. Clients without the
/// name of a network are in one network.
struct ClientId {
  ClientName address = {};
  std::uint64_t connection = 0;
  ClientName network = {};  ///< Follows from the address.

  auto operator<=>(const ClientId&) const = default;
};

}  // namespace scorecast::coordinator
