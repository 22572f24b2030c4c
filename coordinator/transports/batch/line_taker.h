#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "coordinator/transports/batch/line_computer.h"
#include "coordinator/transports/batch/open_line.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A line of a batch.
struct BatchLine {
  std::string_view text;
  std::int64_t line_number = 0;  ///< In the file, from 1 on.
  std::int64_t number = 0;       ///< Among the lines that are not blank, from 0 on.
};

/// Lets the request of each line be computed for the endpoint that the line names, or refuses the
/// line.
class LineTaker {
 public:
  /// `seed` and `created`: see BatchOptions.
  LineTaker(LineComputer& computer, std::uint64_t seed, std::int64_t created);

  void Take(const BatchLine& line, const std::shared_ptr<OpenLine>& opened) const;

  void RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes, OpenLine& opened) const;

 private:
  proto::Error UrlFault(const std::string* url) const;

  LineComputer& computer_;
  const std::uint64_t seed_;
  const std::int64_t created_;
};

}  // namespace scorecast::coordinator
