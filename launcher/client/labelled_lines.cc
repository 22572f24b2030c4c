#include "launcher/client/labelled_lines.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/json/body_value.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "launcher/client/decision_body.h"
#include "proto/base/digest.h"
#include "proto/base/one_line.h"

namespace scorecast::launcher {
namespace {

using coordinator::BodyJson;
using coordinator::InputFile;

constexpr std::int64_t kMaxLineBytes = std::int64_t{1} << 30;

/// Whether a line measures. A right answer must not decide it, so only the request counts. Of an
/// FNV-1a digest the lower bits follow a few bits of each byte, so the product mixes them.
bool IsHeldOut(const v1::SystemOneRequest& request) {
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const std::uint64_t digest = proto::DigestOf(request.SerializeAsString());
  return ((digest ^ (digest >> 32U)) * kGoldenRatio) >> 63U == 1;
}

/// The index of the right option, or nothing if the label is no answer to the question.
std::optional<std::size_t> RightOption(const v1::DecisionQuestion& question,
                                       const BodyJson& label) {
  if (question.type() == "noul" && label.is_boolean()) {
    return label.get<bool>() ? 0 : 1;
  }
  if (question.type() == "choice" && label.is_string()) {
    const auto& options = question.criteria().options().options();
    for (int i = 0; i < options.size(); ++i) {
      if (options[i].key() == *label.get_ptr<const std::string*>()) {
        return static_cast<std::size_t>(i);
      }
    }
  }
  if (question.type() == "score") {
    const std::optional<std::int64_t> level = coordinator::Int64(label);
    if (level && *level >= 0 && *level < question.criteria().levels().levels_size()) {
      return static_cast<std::size_t>(*level);
    }
  }
  return std::nullopt;
}

std::string WantedLabel(const v1::DecisionQuestion& question) {
  if (question.type() == "choice") {
    return "one of the options of the choice";
  }
  return question.type() == "score" ? "the index of a level of the score, from 0" : "true or false";
}

/// The right options of all questions. Throws std::runtime_error.
std::vector<std::size_t> RightOptions(const v1::SystemOneRequest& request, const BodyJson& labels) {
  std::vector<std::size_t> right;
  for (const v1::NamedQuestion& question : request.questions()) {
    const BodyJson* label = FindMember(labels, question.key());
    const std::string& type = question.value().type();
    if (type != "noul" && type != "choice" && type != "score") {
      throw std::runtime_error("questions." + proto::OneLine(question.key()) +
                               ".type must be noul, choice or score, not " + proto::Quoted(type));
    }
    const std::string name = "labels." + proto::OneLine(question.key());
    if (label == nullptr) {
      throw std::runtime_error(name + " is missing");
    }
    const std::optional<std::size_t> option = RightOption(question.value(), *label);
    if (!option) {
      throw std::runtime_error(name + " must be " + WantedLabel(question.value()) + ", not " +
                               proto::OneLine(label->dump(), 64));
    }
    right.push_back(*option);
  }
  for (const auto& [id, label] : *labels.get_ptr<const BodyJson::object_t*>()) {
    const bool has_question = std::ranges::any_of(
        request.questions(), [&](const v1::NamedQuestion& one) { return one.key() == id; });
    if (!has_question) {
      throw std::runtime_error("labels." + proto::OneLine(id) + " has no question");
    }
  }
  return right;
}

/// Throws std::runtime_error that says what is wrong with the line.
LabelledLine ToLabelledLine(const std::string& text) {
  proto::Expected<BodyJson> json = ParseDistinct(text);
  if (!json) {
    throw std::runtime_error(json.error().message);
  }
  auto* members = json->get_ptr<BodyJson::object_t*>();
  BodyJson labels;
  if (members != nullptr) {
    if (const auto found = members->find("labels"); found != members->end()) {
      labels = std::move(found->second);
      members->erase(found);
    }
  }
  LabelledLine line;
  proto::Expected<v1::SystemOneRequest> request = ReadDecisionBody(*std::move(json));
  if (!request) {
    throw std::runtime_error(request.error().message);
  }
  if (!labels.is_object()) {
    throw std::runtime_error("labels must be an object with the right answers by question id");
  }
  line.request = *std::move(request);
  line.right = RightOptions(line.request, labels);
  line.is_held_out = IsHeldOut(line.request);
  return line;
}

std::string NameOfInput(const std::filesystem::path& file) {
  return file == "-" ? "standard input" : proto::OneLinePath(file.string());
}

}  // namespace

std::string PlaceOf(std::int64_t line_number, const std::filesystem::path& file) {
  return NameOfInput(file) + ", line " + std::to_string(line_number) + ": ";
}

std::vector<LabelledLine> ReadLabelledLines(const std::filesystem::path& file) {
  InputFile input(file, kMaxLineBytes);
  const auto place = [&] { return PlaceOf(input.line_number(), file); };
  std::vector<LabelledLine> lines;
  std::string text;
  InputFile::Result result = input.Next(text);
  for (; result != InputFile::Result::kEnd; result = input.Next(text)) {
    if (result == InputFile::Result::kTooLong) {
      throw std::runtime_error(place() + "the line is longer than " +
                               std::to_string(kMaxLineBytes) + " bytes");
    }
    if (text.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    try {
      lines.push_back(ToLabelledLine(text));
    } catch (const std::runtime_error& fault) {
      throw std::runtime_error(place() + fault.what());
    }
    lines.back().line_number = input.line_number();
  }
  if (!input.failure().empty()) {
    throw std::runtime_error(input.failure());
  }
  if (lines.empty()) {
    throw std::runtime_error(NameOfInput(file) + " has no lines");
  }
  return lines;
}

}  // namespace scorecast::launcher
