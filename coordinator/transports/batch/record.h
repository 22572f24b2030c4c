#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/json_writer.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// One line of output, and its kind for the summary.
struct Record {
  using Write = std::function<void(JsonWriter&)>;

  enum class Kind {
    kSucceeded,
    kRefused,
    kErrorRecord,
    kNone,  ///< There is no record, because the server could not compute the line now.
  };
  Kind kind = Kind::kSucceeded;
  Write write;                        ///< Writes it a part at a time. Empty if there is none.
  std::optional<proto::Error> error;  ///< Why there is none.
};

/// The record of a line that is not a request. `custom_id` is absent if the line has none.
Record ErrorRecord(const std::optional<std::string>& custom_id, const proto::Error& error,
                   std::int64_t line_number);

/// The record of a line with a response that was formed elsewhere: a status code, which is none of
/// those below that give no record, and a body as JSON on one line.
Record FormedRecord(const std::string& custom_id, int status, std::string body);

/// The record of a line with this response. A refusal that says nothing about the request but only
/// that the server is full or ends (429, 499, 503) gives no record.
Record ResponseRecord(const std::string& custom_id, const Endpoint& endpoint,
                      proto::Expected<std::unique_ptr<EndpointResponse>> formed);

}  // namespace scorecast::coordinator
