#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// Upper bound on what a request may have beside the body of an HTTP request.
inline constexpr std::size_t kMaxBesideBody = std::size_t{64} << 10;

/// A v1::HttpRequest, whose body stays where it arrived.
struct HttpEnvelope {
  std::string rest;  ///< The bytes of the message without its body.
  // The body, in the bytes of the v1::Request.
  std::size_t body_begin = 0;
  std::size_t body_size = 0;
};

/// What is read of a v1::Request before the endpoint's message is parsed, which may take long.
struct RequestEnvelope {
  std::uint64_t request_id = 0;
  std::optional<std::string> forwarded;  ///< A v1::Forwarded.
  std::optional<HttpEnvelope> http;      ///< The request is an HTTP request.
};

/// Of a message with a fault it has what stands in front of that, and no `http`: a front, which
/// writes the id first, must know which of its requests has the fault.
RequestEnvelope EnvelopeOf(const std::string& message);

/// The id of a request of which only the beginning is there; 0 if that does not say it.
std::uint64_t RequestIdIn(std::string_view beginning);

}  // namespace scorecast::coordinator
