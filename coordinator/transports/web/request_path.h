#pragma once

#include <string>
#include <string_view>

#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The path of a request's target ("/a%20b/?q=1" or "http://host/a"): decoded, without query and
/// without slashes at its end, which is UTF-8. "*" is a path, too. A 400 "bad_url" if the target is
/// none of these, or if an escape in its path is wrong.
proto::Expected<std::string> PathOf(std::string_view target);

/// The usual spelling of a decoded path: with one slash for several, and without the first of two
/// versions. Clients that add "/v1/rerank" to a base URL that ends in "/" or in "/v1" ask for
/// "//v1/rerank" or "/v1/v1/rerank".
std::string UsualPath(std::string_view path);

/// The host and port of a request's target ("http://host:80/a"), which count instead of the field
/// Host (RFC 9112, 3.2.2). Empty if it has none.
std::string_view AuthorityOf(std::string_view target);

}  // namespace scorecast::coordinator
