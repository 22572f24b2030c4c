#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "coordinator/access/api_keys.h"
#include "coordinator/transports/connection/connection.h"

namespace scorecast::coordinator {

/// Such messages are short: a longer one is a request, whose parsing may take its time.
inline constexpr std::size_t kMaxSessionBytes = std::size_t{4} << 10;

/// The frames that answer a message about the connection or the server itself, which is no request
/// to an endpoint: a v1::Authenticate, which sets the connection's client, a v1::Reload, or a
/// v1::Cancel, behind the errors of the requests that it ends. Nothing if the message is another
/// one. `keys` may be null.
std::optional<std::string> SessionReply(const std::string& message, Connection& connection,
                                        ApiKeys* keys);

}  // namespace scorecast::coordinator
