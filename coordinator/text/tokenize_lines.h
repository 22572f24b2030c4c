#pragma once

#include <iosfwd>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// `scorecast tokenize`: for each line {"text": …} of `in` a line {"ids": […]}, with what the
/// tokenizer's own rule adds where `add_special`. A line that is no such object, or whose text is
/// no UTF-8, gets {"error": {"code": 400, "message": …, "line": N}} (from 1), and the run goes on.
/// Answers are out before the next line is waited for. Returns the exit code: 0, 3 where a line was
/// bad, 1 where `out` failed.
int TokenizeLines(const Tokenizer& tokenizer, bool add_special, std::istream& in,
                  std::ostream& out);

}  // namespace scorecast::coordinator
