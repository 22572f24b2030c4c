#pragma once

#include <string>
#include <vector>

namespace scorecast::v1 {
class SystemOneRequest;
class SystemOneResponse;
}  // namespace scorecast::v1

namespace scorecast::launcher {

/// The answers to a request: a line with each question, a line for each of its options with the
/// probability and a bar, of which that of the answer begins with '>', and a line with what else
/// the answer has. Lines are cut to `columns` columns; if that is 0, they are not cut. The response
/// must be that to the request.
std::vector<std::string> AnswerLines(const v1::SystemOneRequest& request,
                                     const v1::SystemOneResponse& response, int columns);

}  // namespace scorecast::launcher
