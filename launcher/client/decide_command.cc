#include "launcher/client/decide_command.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <istream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/json/response_writer.h"
#include "launcher/client/answer_lines.h"
#include "launcher/client/decision_body.h"
#include "launcher/client/terminal_text.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/http_responses.pb.h"

namespace scorecast::launcher {
namespace {

std::string NameOfFile(const std::string& file) {
  return file == "-" ? "standard input" : proto::OneLinePath(file);
}

std::string ReadAll(std::istream& in) {
  std::string content;
  std::array<char, 1 << 16> bytes{};
  while (in) {
    in.read(bytes.data(), bytes.size());
    content.append(bytes.data(), static_cast<std::size_t>(in.gcount()));
  }
  return content;
}

/// All that a file has. "-": standard input.
std::string ContentOf(const std::string& file) {
  if (file == "-") {
    return ReadAll(std::cin);
  }
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string content = ReadAll(in);
  if (!in.eof()) {
    throw std::runtime_error("cannot read " + NameOfFile(file) +
                             (errno == 0 ? "" : std::string(": ") + std::strerror(errno)));
  }
  return content;
}

/// The value, or a fault whose message names the file.
template <typename Value>
Value OrThrow(proto::Expected<Value> value, const std::string& file) {
  if (!value) {
    throw std::runtime_error(NameOfFile(file) + ": " + value.error().message);
  }
  return *std::move(value);
}

/// The line end at a file's end is not a part of a text.
void SetText(std::string content, v1::TextOrJson& state) {
  if (content.ends_with('\n')) {
    content.resize(content.size() - (content.ends_with("\r\n") ? 2 : 1));
  }
  state.set_text(std::move(content));
}

void SetJson(const std::string& file, v1::TextOrJson& state) {
  const coordinator::BodyJson json = OrThrow(ParseDistinct(ContentOf(file)), file);
  if (const auto* text = json.get_ptr<const std::string*>()) {
    state.set_text(*text);
  } else if (json.is_structured()) {
    state.set_json(CompactJson(json));
  } else {
    throw std::runtime_error(NameOfFile(file) + ": a state is an object, a list or a string");
  }
}

v1::SystemOneRequest RequestOf(const DecideFlags& flags) {
  const bool has_questions = !flags.questions.empty();
  if (!flags.input_file.empty()) {
    if (has_questions || !flags.instructions.empty() || flags.x_orders != 1 || flags.x_label_mass) {
      throw std::runtime_error(
          "--input has the whole request, so it excludes --question, "
          "--choice, --score, --instructions, --x-orders and --x-label-mass");
    }
    return OrThrow(
        ReadDecisionBody(OrThrow(ParseDistinct(ContentOf(flags.input_file)), flags.input_file)),
        flags.input_file);
  }
  if (!has_questions) {
    throw std::runtime_error("there are no questions: give --question, --choice or --score");
  }
  v1::SystemOneRequest request;
  AddQuestions(flags.questions, flags.instructions, request);
  request.set_x_orders(flags.x_orders);
  request.set_x_label_mass(flags.x_label_mass);
  if (flags.state_json_file.empty()) {
    SetText(ContentOf(flags.state_file), *request.mutable_state());
  } else {
    SetJson(flags.state_json_file, *request.mutable_state());
  }
  return request;
}

v1::Request ToRequest(const DecideFlags& flags) {
  v1::Request request;
  request.set_request_id(1);
  v1::SystemOneRequest& systemone = *request.mutable_systemone();
  systemone = RequestOf(flags);
  if (flags.priority != 0) {
    systemone.set_priority(flags.priority);
  }
  if (flags.timeout_ms) {
    systemone.set_timeout_ms(*flags.timeout_ms);
  }
  return request;
}

void PrintJson(const v1::SystemOneResponse& response) {
  const coordinator::ResponseForm& form =
      coordinator::FormOf(*v1::SystemOneResponse::descriptor(), *v1::SystemOneBody::descriptor());
  std::printf("%s\n", coordinator::ResponseJson(response, form).c_str());
}

}  // namespace

int RunDecideCommand(const DecideFlags& flags) {
  const v1::Request request = ToRequest(flags);
  const v1::Response response = CallServer(flags, request);
  if (!response.has_systemone()) {
    return PrintRefusal(response.error());
  }
  if (flags.json) {
    PrintJson(response.systemone());
  } else {
    for (const std::string& line :
         AnswerLines(request.systemone(), response.systemone(), TerminalColumns())) {
      std::printf("%s\n", line.c_str());
    }
  }
  FlushOutput();
  return 0;
}

}  // namespace scorecast::launcher
