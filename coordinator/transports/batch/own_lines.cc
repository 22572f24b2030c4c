#include "coordinator/transports/batch/own_lines.h"

#include <string_view>

namespace scorecast::coordinator {
namespace {

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

InputFile::Result OwnLines::Next(std::string& line) {
  for (;;) {
    const InputFile::Result result = in_.Next(line);
    if (result == InputFile::Result::kEnd) {
      return result;
    }
    if (result == InputFile::Result::kLine && IsBlank(line)) {
      continue;
    }
    if (share_.Has(lines_++)) {
      return result;
    }
  }
}

void OwnLines::MoveHere(RunPoint& point) const {
  point.lines = lines_;
  point.input_bytes = in_.offset();
  point.input_digest = in_.digest();
}

}  // namespace scorecast::coordinator
