#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// What the response to a request has if that does not say it: see v1::Forwarded.
struct ResponseDefaults {
  std::uint64_t seed = 0;
  std::uint64_t response_id = 0;
  std::int64_t created = 0;
};

/// A request of a front's client, which the front has let in.
struct FrontRequest {
  std::string bytes;  ///< Of a v1::Request without `request_id` and `forwarded`.
  /// Where that begins of which a replica may have a part already: the body of an HTTP request.
  std::size_t body_begin = 0;
  std::string model;                      ///< The one that it names; empty if it names none.
  ClientId client;                        ///< Its address is what replicas call it.
  std::optional<v1::ForwardedKey> key{};  ///< Set if the client is the holder of a key.
  /// Unset: its time begins whenever it is sent.
  std::optional<Clock::time_point> arrived = Clock::now();
  std::optional<Clock::time_point> deadline = std::nullopt;
  std::optional<ResponseDefaults> defaults = std::nullopt;  ///< Unset: replicas choose them.
  /// Why its client is not let in, if the request is for this model. Called once, when the model is
  /// known; may be empty.
  std::function<std::optional<proto::Error>(const std::string& model)> judge = nullptr;
};

/// A part of the reply to a request.
struct FrontReply {
  /// Without `request_id` and `status`. Its `error` is that of a replica or of the front itself.
  v1::Response response;
  bool is_last = false;
};

}  // namespace scorecast::coordinator
