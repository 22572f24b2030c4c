#include "coordinator/transports/batch/open_line.h"

#include <utility>

#include "coordinator/transports/batch/line_window.h"

namespace scorecast::coordinator {

OpenLine::OpenLine(std::shared_ptr<LineWindow> window, std::size_t bytes, const RunPoint& end,
                   std::int64_t position)
    : window_(std::move(window)),
      bytes_(static_cast<std::int64_t>(bytes)),
      end_(end),
      position_(position) {}

void OpenLine::Refuse(proto::Error error, std::int64_t line_number) {
  Ready([this, error = std::move(error), line_number](const std::string& /*custom_id*/) {
    return ErrorRecord(custom_id_, error, line_number);
  });
}

void OpenLine::AwaitResponseRoom(std::int64_t bytes) { window_->AwaitResponseRoom(*this, bytes); }

void OpenLine::Ready(FormRecord form, std::optional<std::int64_t> response_bytes) {
  form_ = std::move(form);
  window_->Ready(*this, response_bytes);
}

Record OpenLine::Finish() {
  // What forms the record is not needed any longer than the record.
  const FormRecord form = std::exchange(form_, nullptr);
  return form(custom_id_.value_or(""));
}

}  // namespace scorecast::coordinator
