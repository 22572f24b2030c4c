#include "coordinator/endpoints/tei/predict_request.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/class_scores.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/endpoints/tei/text_options.h"
#include "coordinator/endpoints/text_readout.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/files/label_names.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

struct TeiPredictReadout : TextReadout {
  ClassScores scores;
  bool is_list = false;  ///< Otherwise the only text is in no list.
  const std::vector<std::string>* label_names = nullptr;

  Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override {
    auto response = std::make_unique<v1::TeiPredictResponse>();
    const auto add = [&](std::size_t text, const std::vector<std::vector<double>>& of_text) {
      const std::vector<double>& classes = of_text.front();
      for (const std::size_t index : ClassesBestFirst(rows[text].front())) {
        v1::TeiPrediction& prediction = *response->add_predictions();
        prediction.set_score(classes[index]);
        prediction.set_label((*label_names)[index]);
      }
      if (is_list) {
        response->add_counts(static_cast<std::int64_t>(classes.size()));
      }
    };
    if (auto fault = ForEachText(rows, scores, add)) {
      return Unexpected(*std::move(fault));
    }
    return std::make_unique<EndpointResponse>(std::move(response));
  }
};

/// Texts, one for a text and two for a pair.
using TextOrPair = std::vector<std::string>;

struct PredictInputs {
  std::vector<TextOrPair> texts;
  bool is_list = false;
};

Error WrongInputs() {
  return BadRequest("wrong_type",
                    "inputs must be a string, a pair [string, string], or a list of lists of one "
                    "string or two.",
                    "inputs");
}

/// The one or two strings of a list. Nothing if it has others.
std::optional<TextOrPair> StringsOf(const nlohmann::json& list) {
  TextOrPair texts;
  for (const nlohmann::json& text : list) {
    if (!text.is_string() || texts.size() == 2) {
      return std::nullopt;
    }
    texts.push_back(text.get<std::string>());
  }
  return list.is_array() && !texts.empty() ? std::optional(std::move(texts)) : std::nullopt;
}

/// As text-embeddings-inference reads them: a list of one or two strings is one text or pair.
Expected<PredictInputs> PredictInputsOf(const std::string& text) {
  const nlohmann::json inputs = nlohmann::json::parse(text);
  PredictInputs read;
  if (inputs.is_string()) {
    read.texts.push_back({inputs.get<std::string>()});
    return read;
  }
  if (!inputs.is_array() || inputs.empty()) {
    return Unexpected(WrongInputs());
  }
  if (inputs.front().is_string()) {
    std::optional<TextOrPair> one = StringsOf(inputs);
    if (!one) {
      return Unexpected(WrongInputs());
    }
    read.texts.push_back(*std::move(one));
    return read;
  }
  read.is_list = true;
  for (const nlohmann::json& element : inputs) {
    std::optional<TextOrPair> one = StringsOf(element);
    if (!one) {
      return Unexpected(WrongInputs());
    }
    read.texts.push_back(*std::move(one));
  }
  return read;
}

}  // namespace

Expected<PreparedRequest> PrepareTeiPredict(MessageRequest<v1::TeiPredictRequest> request,
                                            const RequestContext& context,
                                            const OnDelta& /*on_delta*/) {
  const v1::TeiPredictRequest& message = request.message;
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<PredictInputs> inputs = PredictInputsOf(message.inputs());
  if (!inputs) {
    return Unexpected(inputs.error());
  }
  TextInputs texts = {.texts = {}, .field = "inputs"};
  for (const TextOrPair& one : inputs->texts) {
    texts.texts.push_back({std::string_view(one[0]), std::nullopt});
    if (one.size() == 2) {
      if (!context.config.read_head) {
        return Unexpected(
            BadRequest("no_pairs", "This model reads one text: join the pair as its prompt has it.",
                       "inputs"));
      }
      texts.texts.back().second = one[1];
    }
  }
  const Expected<TextInputs> checked = WithTeiOptions(message, std::move(texts), context);
  if (!checked) {
    return Unexpected(checked.error());
  }
  auto readout = std::make_shared<TeiPredictReadout>();
  readout->scores = {.kind = KindOfClasses(context.config, message.raw_scores()),
                     .field = checked->field};
  readout->is_list = inputs->is_list;
  readout->label_names = &context.options.label_names;
  return PrepareTexts(*checked, std::move(readout), context);
}

std::int64_t TeiPredictResponseBytesBound(const MessageRequest<v1::TeiPredictRequest>& request,
                                          const proto::ModelConfig& config) {
  // Each text has quotation marks.
  const std::int64_t texts =
      std::max<std::int64_t>(std::ranges::count(request.message.inputs(), '"') / 2, 1);
  return kOtherBytes +
         texts * (kListBytes + config.num_labels * (kMaxLabelBytes + kListBytes + kNumberBytes));
}

}  // namespace scorecast::coordinator
