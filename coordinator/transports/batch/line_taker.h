#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "coordinator/service/request_service.h"
#include "coordinator/transports/batch/line_call.h"
#include "coordinator/transports/batch/line_window.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A line of a batch.
struct BatchLine {
  std::string_view text;
  std::int64_t line_number = 0;  ///< In the file, from 1 on.
  std::int64_t number = 0;       ///< Among the lines that are not blank, from 0 on.
};

/// Begins the request of each line at the endpoint that the line names, or refuses the line.
class LineTaker {
 public:
  /// `window` has the lines. `seed` and `created`: see BatchOptions.
  LineTaker(RequestService& service, LineWindow& window, std::uint64_t seed, std::int64_t created);

  void Take(const BatchLine& line, const std::shared_ptr<LineCall>& call) const;

  void RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes, LineCall& call) const;

 private:
  proto::Error UrlFault(const std::string* url) const;

  RequestService& service_;
  LineWindow& window_;
  const std::uint64_t seed_;
  const std::int64_t created_;
};

}  // namespace scorecast::coordinator
