#pragma once

#include <string>
#include <vector>

namespace scorecast::v1 {
class SystemOneRequest;
}

namespace scorecast::launcher {

/// A question as the command line gives it: the text of --question, or ID=OPTION,OPTION,… of
/// --choice and --score.
struct QuestionFlag {
  std::string type;  ///< "noul", "choice" or "score".
  std::string text;
};

/// Adds the questions to a request, in their order. A choice's or score's id is the text before the
/// first '=', and a noul's is its text; it also is the question's instructions, unless one of
/// `instructions`, which are ID=TEXT, has others. A backslash before '=', ',' or a backslash makes
/// it a part of an id or option. White space around ids and options is left out. Throws
/// std::runtime_error, one line, if a text has another form, or if an id is there twice or has no
/// question.
void AddQuestions(const std::vector<QuestionFlag>& flags,
                  const std::vector<std::string>& instructions, v1::SystemOneRequest& request);

}  // namespace scorecast::launcher
