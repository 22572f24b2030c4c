#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launcher/client/client_command.h"
#include "launcher/client/question_flags.h"

namespace scorecast::launcher {

struct DecideFlags : ClientFlags {
  // One of these is given; "-" is standard input.
  std::string state_file;       ///< Text.
  std::string state_json_file;  ///< An object, a list or a string.
  std::string input_file;       ///< A whole body of /v1/systemone; then nothing below is given.
  std::vector<QuestionFlag> questions;
  std::vector<std::string> instructions;  ///< ID=TEXT
  std::int64_t x_orders = 1;
  bool x_label_mass = false;
};

/// Sends one request. Prints each question with its options, their probabilities and bars, or
/// prints the whole response as JSON. Returns 0. If the server refused the request, prints the
/// error to standard error and returns 1. Throws std::runtime_error if a flag or file is faulty, or
/// if no reply comes in time.
int RunDecideCommand(const DecideFlags& flags);

}  // namespace scorecast::launcher
