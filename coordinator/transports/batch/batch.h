#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/endpoints/request_service.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/files/record_file.h"

namespace scorecast::coordinator {

struct BatchOptions {
  // Bounds on the lines that are read and not yet written; a single line is always admitted.
  // Scheduler::WaitForRoom bounds what waits to be computed.
  std::size_t max_lines_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{8} << 20;
  /// Bounds the responses of these lines: see EndpointRequest::ResponseBytesBound.
  std::int64_t max_response_bytes_in_flight = std::int64_t{256} << 20;
  /// A request whose response could be larger is refused with a 413, as on the request socket: see
  /// SocketOptions::max_held_bytes.
  std::int64_t max_response_bytes = std::int64_t{1} << 30;
  /// Completions of a request without a seed get one that follows from this one and `custom_id`.
  std::uint64_t seed = 0;
};

struct BatchSummary {
  std::int64_t succeeded = 0;      ///< Lines with status code 200.
  std::int64_t refused = 0;        ///< Responses with another status code.
  std::int64_t error_records = 0;  ///< Lines that are not requests.
  std::string failure;             ///< Why the run itself failed; empty if it did not.

  /// 0: every line got a 200. 3: some did not. 1: the run failed.
  int ExitCode() const;
};

/// Runs OpenAI batch lines, {"custom_id":…,"method":"POST","url":…,"body":{…}}, and writes one line
/// for each in the order of the input, even if they are computed in another order. Blank lines are
/// skipped. A line that is not a request gets an error record with its number. Lines are read,
/// parsed and tokenized on the calling thread, which waits while the responses of earlier lines
/// take too much room; responses are formed and written on another thread, and flushed whenever the
/// next one is not ready, but a compressed output once a second at most. `out` has begun. If it
/// fails, requests that still wait to be computed are cancelled.
BatchSummary RunBatch(InputFile& in, RecordFile& out, RequestService& service,
                      const BatchOptions& options);

}  // namespace scorecast::coordinator
