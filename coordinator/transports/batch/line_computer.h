#pragma once

#include <cstdint>
#include <memory>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/transports/batch/open_line.h"

namespace scorecast::coordinator {

struct LineRequest;

/// What computes the lines of a batch. The functions are called on any thread, Begin and
/// WaitForRoom only on the one that reads lines.
class LineComputer {
 public:
  virtual ~LineComputer() = default;

  /// What lines may ask for.
  virtual EndpointList endpoints() const = 0;
  /// Upper bound on the values of a line: see ParseJson.
  virtual std::int64_t max_values() const = 0;

  /// Waits until a further line is needed. Called before each line.
  virtual void WaitForRoom() {}
  /// Begins to compute a line, perhaps after a wait for room for its response. Calls
  /// OpenLine::Ready when the response is known, which may be inside the call. Every line becomes
  /// ready: at the latest after StopSoon or Cancel, without a record then.
  virtual void Begin(const std::shared_ptr<OpenLine>& line, LineRequest request) = 0;

  /// The run ends early. What is about to be computed may still get its record.
  virtual void StopSoon() = 0;
  /// Whether StopSoon was called.
  virtual bool is_stopping() const = 0;
  /// Nobody wants the records of the lines that are not ready.
  virtual void Cancel() = 0;
};

}  // namespace scorecast::coordinator
