#pragma once

#include <iosfwd>

#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// `scorecast tokenize`: writes one line {"ids": […]} for each line {"text": …} of `in`. The ids
/// include what the tokenizer's own rule adds (BOS, EOS) if `add_special`. A line that is not such
/// an object, or whose text is not valid UTF-8, gets {"error": {"code": 400, "message": …, "line":
/// N}} (N counts from 1), and the run continues. Each output line is flushed before the next input
/// line is waited for. Returns the exit code: 0, 3 if a line had an error, or 1 if writing to `out`
/// failed.
int TokenizeLines(const Tokenizer& tokenizer, const EncodeOptions& options, bool add_special,
                  std::istream& in, std::ostream& out);

}  // namespace scorecast::coordinator
