#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include "coordinator/endpoints/json_doors.h"
#include "coordinator/request/server_options.h"

namespace scorecast::coordinator {

struct BatchOptions {
  std::int64_t max_request_bytes = kDefaultMaxRequestBytes;  ///< Of a line.
  // Bounds on what is read and not yet written; a single line is always let in. What waits to be
  // computed is bounded by Scheduler::WaitForRoom.
  std::size_t max_lines_in_flight = 1024;
  std::int64_t max_bytes_in_flight = std::int64_t{64} << 20;
};

struct BatchSummary {
  std::int64_t answered = 0;       ///< Lines with status code 200.
  std::int64_t refused = 0;        ///< Responses with another status code.
  std::int64_t error_records = 0;  ///< Lines that are no request.
  std::string failure;             ///< Why the run itself failed; empty where it did not.

  /// 0: every line was answered with 200. 3: some were not. 1: the run failed.
  int ExitCode() const;
};

/// Answers OpenAI batch lines, {"custom_id":…,"method":"POST","url":…,"body":{…}}, one line each
/// and in their order, whatever the order in which they are computed. Blank lines are skipped. A
/// line that is no request gets an error record with its number. Lines are read, parsed and
/// tokenized on the calling thread; answers are formed and written on one of its own, and flushed
/// whenever the next is not ready. `scheduler` is the one that the doors submit to.
BatchSummary RunBatch(std::istream& in, std::ostream& out, const JsonDoors& doors,
                      Scheduler& scheduler, const BatchOptions& options);

}  // namespace scorecast::coordinator
