#include "coordinator/doors/score_json.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/doors/request_error.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Error;
using proto::Expected;
using proto::Unexpected;

Error WrongType(const std::string& field, std::string_view wanted) {
  return BadRequest("wrong_type", field + " must be " + std::string(wanted) + ".", field);
}

/// Reads the fields of one body. The first fault is kept; what is read after it does not matter.
class BodyReader {
 public:
  explicit BodyReader(const json& body) : body_(body) {}

  void RefuseUnsupported() {
    for (const auto& [name, value] : body_.items()) {
      const std::string_view key = name;
      constexpr std::string_view kOverrides = "_embed_overrides";
      const bool overrides = key.ends_with(kOverrides);
      const bool unset = value.is_null() || (value.is_boolean() && !value.get<bool>());
      if ((overrides || key == "return_pooled_hidden_states") && !unset) {
        Fail(BadRequest("not_supported", name + " is not supported for causal language models.",
                        name));
      } else if ((key == "score_extraction_token" || key == "cache_salt") && !value.is_null()) {
        Fail(BadRequest("not_supported", name + " is not supported by this server.", name));
      }
    }
  }

  TextOrIds Query() {
    const json* value = Find("query");
    if (value == nullptr) {
      Fail(BadRequest("missing_field", "query must be provided.", "query"));
      return {};
    }
    return ReadTextOrIds(*value, "query");
  }

  std::vector<TextOrIds> Items() {
    const json* value = Find("items");
    if (value == nullptr) {
      Fail(BadRequest("missing_field", "items must be provided.", "items"));
      return {};
    }
    std::vector<TextOrIds> items;
    if (value->is_string()) {
      items.emplace_back(value->get<std::string>());
      return items;
    }
    if (!value->is_array()) {
      Fail(WrongType("items", "a string, or a list of strings or of lists of token ids"));
      return items;
    }
    items.reserve(value->size());
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      items.push_back(ReadTextOrIds((*value)[i], At("items", i)));
    }
    return items;
  }

  std::optional<LabelTokenIds> Labels() {
    const std::string field = "label_token_ids";
    const json* value = Find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_array()) {
      Fail(WrongType(field, "a list of token ids, or one such list per item"));
      return std::nullopt;
    }
    if (value->empty() || !value->front().is_array()) {
      return ReadIds(*value, field);
    }
    std::vector<std::vector<TokenId>> lists;
    lists.reserve(value->size());
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      if (!(*value)[i].is_array()) {
        Fail(WrongType(At(field, i), "a list of token ids, as those before it"));
        break;
      }
      lists.push_back(ReadIds((*value)[i], At(field, i)));
    }
    return lists;
  }

  std::optional<std::vector<std::string>> Strings(const std::string& field) {
    const json* value = Find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_array()) {
      Fail(WrongType(field, "a list of strings"));
      return std::nullopt;
    }
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < value->size() && !error_; ++i) {
      if (!(*value)[i].is_string()) {
        Fail(WrongType(At(field, i), "a string"));
        break;
      }
      strings.push_back((*value)[i].get<std::string>());
    }
    return strings;
  }

  bool Bool(const std::string& field, bool absent) {
    const json* value = Find(field);
    if (value == nullptr) {
      return absent;
    }
    if (!value->is_boolean()) {
      Fail(WrongType(field, "true or false"));
      return absent;
    }
    return value->get<bool>();
  }

  double Number(const std::string& field, double absent) {
    const json* value = Find(field);
    if (value == nullptr) {
      return absent;
    }
    if (!value->is_number()) {
      Fail(WrongType(field, "a number"));
      return absent;
    }
    return value->get<double>();
  }

  std::optional<std::int64_t> Integer(const std::string& field) {
    const json* value = Find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    const std::optional<std::int64_t> integer = Int64(*value);
    if (!integer) {
      Fail(WrongType(field, "an integer of at most 64 bits"));
    }
    return integer;
  }

  std::optional<std::string> String(const std::string& field) {
    const json* value = Find(field);
    if (value == nullptr) {
      return std::nullopt;
    }
    if (!value->is_string()) {
      Fail(WrongType(field, "a string"));
      return std::nullopt;
    }
    return value->get<std::string>();
  }

  std::optional<Error>& error() { return error_; }

 private:
  void Fail(Error error) {
    if (!error_) {
      error_ = std::move(error);
    }
  }

  const json* Find(const std::string& field) const {
    const auto found = body_.find(field);
    return found == body_.end() || found->is_null() ? nullptr : &*found;
  }

  static std::optional<std::int64_t> Int64(const json& value) {
    if (!value.is_number_integer()) {
      return std::nullopt;
    }
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() >
            static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return value.get<std::int64_t>();
  }

  TextOrIds ReadTextOrIds(const json& value, const std::string& field) {
    if (value.is_string()) {
      return value.get<std::string>();
    }
    if (!value.is_array()) {
      Fail(WrongType(field, "a string or a list of token ids"));
      return {};
    }
    return ReadIds(value, field);
  }

  /// A whole number that is no TokenId is in no vocabulary; PrepareScore refuses the others.
  std::vector<TokenId> ReadIds(const json& list, const std::string& field) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const json& value = list[i];
      if (!value.is_number_integer()) {
        Fail(BadRequest("wrong_type", At(field, i) + " must be a token id, which is an integer.",
                        At(field, i)));
        return ids;
      }
      const std::optional<std::int64_t> id = Int64(value);
      if (!id || *id < std::numeric_limits<TokenId>::min() ||
          *id > std::numeric_limits<TokenId>::max()) {
        Fail(BadRequest("id_out_of_range",
                        "Token ID " + value.dump() + " is out of any vocabulary's range.",
                        At(field, i)));
        return ids;
      }
      ids.push_back(static_cast<TokenId>(*id));
    }
    return ids;
  }

  const json& body_;
  std::optional<Error> error_;
};

JsonAnswerBody UsageToJson(const Usage& usage) {
  JsonAnswerBody json_usage;
  json_usage["prompt_tokens"] = usage.prompt_tokens;
  json_usage["total_tokens"] = usage.prompt_tokens;
  json_usage["completion_tokens"] = 0;
  json_usage["cached_tokens"] = usage.cached_tokens;
  return json_usage;
}

JsonAnswerBody TimingsToJson(const Timings& timings) {
  JsonAnswerBody json_timings;
  json_timings["queue_ms"] = timings.queue_ms;
  json_timings["tokenize_ms"] = timings.tokenize_ms;
  json_timings["forward_ms"] = timings.forward_ms;
  json_timings["total_ms"] = timings.total_ms;
  return json_timings;
}

}  // namespace

Expected<ScoreRequest> ScoreRequestFromJson(const json& body) {
  if (!body.is_object()) {
    return Unexpected(BadRequest("wrong_type", "The request body must be a JSON object.", ""));
  }
  BodyReader reader(body);
  reader.RefuseUnsupported();
  ScoreRequest request;
  request.query = reader.Query();
  request.items = reader.Items();
  request.label_token_ids = reader.Labels();
  request.labels = reader.Strings("labels");
  request.apply_softmax = reader.Bool("apply_softmax", request.apply_softmax);
  request.item_first = reader.Bool("item_first", request.item_first);
  request.temperature = reader.Number("temperature", request.temperature);
  request.return_token_logprobs =
      reader.Bool("return_token_logprobs", request.return_token_logprobs);
  request.top_logprobs = reader.Integer("top_logprobs").value_or(request.top_logprobs);
  request.max_new_tokens = reader.Integer("max_new_tokens").value_or(request.max_new_tokens);
  request.timeout_ms = reader.Integer("timeout_ms");
  request.model = reader.String("model");
  if (reader.error()) {
    return Unexpected(*std::move(reader.error()));
  }
  return request;
}

JsonAnswerBody ScoreResponseToJson(const ScoreResponse& response) {
  JsonAnswerBody body;
  body["object"] = "scoring";
  body["scores"] = response.scores;
  body["model"] = response.model;
  body["usage"] = UsageToJson(response.usage);
  if (response.token_logprobs) {
    body["token_logprobs"] = *response.token_logprobs;
  }
  if (response.query_token_logprobs) {
    body["query_token_logprobs"] = *response.query_token_logprobs;
  }
  if (response.top_logprobs) {
    JsonAnswerBody rows = JsonAnswerBody::array();
    for (const std::vector<TokenLogprob>& row : *response.top_logprobs) {
      JsonAnswerBody& json_row = rows.emplace_back(JsonAnswerBody::array());
      for (const auto& [id, logprob] : row) {
        json_row.push_back(JsonAnswerBody::array({id, logprob}));
      }
    }
    body["top_logprobs"] = std::move(rows);
  }
  if (response.item_first_ignored) {
    body["item_first_ignored"] = true;
  }
  body["timings"] = TimingsToJson(response.timings);
  return body;
}

}  // namespace scorecast::coordinator
