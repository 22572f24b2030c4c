#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "coordinator/json/json_text.h"
#include "coordinator/service/request_service.h"
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
  /// `seed` and `created`: see BatchOptions. `max_response_bytes`: a request whose response could
  /// be larger is refused.
  LineTaker(RequestService& service, std::shared_ptr<LineWindow> window, std::uint64_t seed,
            std::int64_t created, std::int64_t max_response_bytes);

  void Take(const BatchLine& line, const std::shared_ptr<LineWindow::Slot>& slot) const;

  void RefuseTooLong(std::int64_t line_number, std::int64_t max_bytes,
                     LineWindow::Slot& slot) const;

 private:
  void Refuse(OrderedJson custom_id, proto::Error error, std::int64_t line_number,
              LineWindow::Slot& slot) const;
  proto::Error UrlFault(const std::string* url) const;

  RequestService& service_;
  const std::shared_ptr<LineWindow> window_;
  const std::uint64_t seed_;
  const std::int64_t created_;
  const std::int64_t max_response_bytes_;
};

}  // namespace scorecast::coordinator
