#pragma once

#include <functional>
#include <string>

#include "launcher/client/client.h"
#include "launcher/client/server_location.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

/// Sends a request on a connection of its own and returns its response. A connection that is
/// refused, or lost before the response, is tried again with growing pauses, because the server may
/// be starting again:
/// - One that is refused, for ten seconds. Nothing listens there; under `scorecast supervise` the
///   address stays open while the job starts. A server whose address file is missing counts as one
///   that refuses. The file is read anew for each attempt.
/// - One that is lost after the request was sent, three times, so that a request which itself ends
///   the server does not end it for ever. A request that is computed twice does no harm.
/// - Not at all if a delta has been passed to `on_delta`.
/// `options.timeout` bounds everything together. Throws std::runtime_error like Client. `on_delta`
/// may be empty if the request does not stream.
v1::Response RetryingCall(const ServerLocation& location, const v1::Request& request,
                          const ClientOptions& options,
                          const std::function<void(const v1::Response&)>& on_delta = {});

}  // namespace scorecast::launcher
