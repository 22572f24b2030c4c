#pragma once

#include <functional>
#include <string>

#include "launcher/client/client.h"
#include "launcher/client/server_location.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

/// Sends a request on a connection of its own and returns its response. A connection that is
/// refused, or lost before the response, is tried again with growing pauses, because the server may
/// be starting again: - A refused connection, or one that is lost before its handshake of TLS has
/// ended, is tried for ten seconds, because nothing serves there. (Under `scorecast supervise` the
/// address stays open while the job starts.) A missing address file counts as a refusal. The file
/// is read anew for each attempt. - A connection that is lost after the request was sent is tried
/// three times, so that a request which itself ends the server cannot do so for ever. Computing a
/// request twice does no harm. - If a delta has been passed to `on_delta`, nothing is tried again.
/// `options.timeout` limits the time of all attempts together. Throws std::runtime_error like
/// Client. `on_delta` may be empty if the request does not stream.
v1::Response RetryingCall(const ServerLocation& location, const v1::Request& request,
                          const ClientOptions& options,
                          const std::function<void(const v1::Response&)>& on_delta = {});

}  // namespace scorecast::launcher
