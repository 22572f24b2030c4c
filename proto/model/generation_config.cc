#include "proto/model/generation_config.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/config_fields.h"
#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMaxGenerationConfigBytes = 16 << 20;
constexpr std::string_view kGenerationFile = "generation_config.json";
constexpr Bounds kTokens{1, 1 << 30};
constexpr Bounds kBestTokens{-1, 1 << 30};

constexpr std::string_view kBeams = "beam search is not supported";
constexpr std::string_view kOnlyOfBeams = "it is for beam search";
constexpr std::string_view kForcedTokens = "tokens are not forced";
constexpr std::string_view kForbiddenTokens =
    "the file forbids tokens, and only requests can do that";
constexpr std::string_view kGenerationOutputs = "responses have what their requests ask for";
constexpr std::string_view kSpeed = "it changes how fast tokens come, not which";
constexpr std::string_view kPenalties = "this penalty is not supported";
constexpr std::string_view kDraws = "this way to choose tokens is not supported";

constexpr std::array kGenerationRows = {
    Followed("temperature top_p top_k min_p repetition_penalty max_new_tokens eos_token_id"),
    NoEffect("do_sample", "the temperature says whether tokens are drawn"),
    NoEffect("max_length num_return_sequences",
             "requests say how long completions are, and how many"),
    NoEffect("bos_token_id pad_token_id decoder_start_token_id",
             "a completion begins with its prompt"),

    Refused("num_beams num_beam_groups", "[null, 1]", kBeams),
    Refused("diversity_penalty", "[null, 0]", kBeams),
    Refused("constraints force_words_ids", "[null, []]", kBeams),
    NoEffect("early_stopping length_penalty", kOnlyOfBeams),

    Refused("penalty_alpha", "[null, 0]", "contrastive search is not supported"),
    Refused("dola_layers", "[null]", "DoLa is not supported"),
    Refused("guidance_scale", "[null, 1]", "guidance is not supported"),
    Refused("watermarking_config", "[null]", "watermarks are not supported"),
    Refused("token_healing", "[null, false]", "the tokens of a prompt are never changed"),

    Refused("typical_p", "[null, 1]", kDraws).OfDraws(),
    Refused("epsilon_cutoff eta_cutoff", "[null, 0]", kDraws).OfDraws(),
    Refused("top_h", "[null]", kDraws).OfDraws(),

    Refused("min_length min_new_tokens", "[null, 0]", "requests say it with min_tokens")
        .Unless("min_tokens"),
    Refused("stop_strings", "[null, []]", "requests say it with stop").Unless("stop"),
    Refused("max_time", "[null]", "completions end by tokens, not by time"),

    Refused("no_repeat_ngram_size encoder_no_repeat_ngram_size", "[null, 0]",
            "repeated sequences of tokens are not prevented"),
    Refused("encoder_repetition_penalty", "[null, 1]", kPenalties),
    Refused("exponential_decay_length_penalty", "[null]", kPenalties),
    Refused("bad_words_ids", "[null, []]", kForbiddenTokens).Unless("bad_words"),
    Refused("suppress_tokens begin_suppress_tokens", "[null, []]", kForbiddenTokens),
    Refused("sequence_bias", "[null, [], {}]", "requests say it with logit_bias")
        .Unless("logit_bias"),
    Refused("forced_bos_token_id forced_eos_token_id", "[null]", kForcedTokens),
    NoEffect("remove_invalid_values", "a completion with an invalid number is an error"),
    NoEffect("renormalize_logits", "draws do not depend on it"),

    NoEffect("output_attentions output_hidden_states output_scores output_logits "
             "return_dict_in_generate",
             kGenerationOutputs),
    NoEffect("use_cache cache_implementation cache_config max_cache_len use_mtp is_assistant "
             "num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold "
             "prompt_lookup_num_tokens max_matching_ngram_size assistant_early_exit "
             "assistant_lookbehind target_lookbehind assistant_ensemble_weight speculation_type "
             "compile_config disable_compile continuous_batching_config low_memory "
             "prefill_chunk_size",
             kSpeed),
    NoEffect("transformers_version _from_model_config _commit_hash",
             "it says where the file comes from"),
};

/// Reads values of a file. Notes those that cannot be followed.
class GenerationValues {
 public:
  GenerationValues(const Json& root, GenerationConfig& config) : root_(root), config_(config) {}

  /// A number of `range`, up to `most`, and above 0 or, if `takes_zero`, at least 0.
  std::optional<double> Number(std::string_view name, double most, bool takes_zero,
                               const std::string& range) {
    const Json* const value = FindNonNull(name);
    if (value == nullptr) {
      return std::nullopt;
    }
    const double number = value->is_number() ? value->get<double>() : -1;
    if (number <= most && (takes_zero ? number >= 0 : number > 0)) {
      return number;
    }
    Note(name, *value, "it must be a number " + range, name);
    return std::nullopt;
  }

  std::optional<std::int64_t> Integer(std::string_view name, Bounds bounds,
                                      std::string_view request_field) {
    const Json* const value = FindNonNull(name);
    if (value == nullptr || IsIntegerWithin(*value, bounds)) {
      return value == nullptr ? std::nullopt : std::optional(value->get<std::int64_t>());
    }
    Note(name, *value,
         "it must be an integer from " + std::to_string(bounds.least) + " to " +
             std::to_string(bounds.most),
         request_field);
    return std::nullopt;
  }

  /// Ids that the vocabulary does not have are ids, too.
  void CheckEosIds() {
    const auto is_id = [](const Json& id) { return id.is_number_integer(); };
    const Json* const value = FindNonNull("eos_token_id");
    if (value != nullptr && !is_id(*value) &&
        !(value->is_array() && std::ranges::all_of(*value, is_id))) {
      Note("eos_token_id", *value, "it must be an id, or a list of ids", "ignore_eos");
    }
  }

 private:
  const Json* FindNonNull(std::string_view name) const {
    const auto found = root_.find(name);
    return found == root_.end() || found->is_null() ? nullptr : &*found;
  }

  void Note(std::string_view name, const Json& value, const std::string& why,
            std::string_view request_field) {
    config_.unsupported.push_back({.key = std::string(name),
                                   .value = Shown(value),
                                   .why = why,
                                   .request_field = std::string(request_field)});
  }

  const Json& root_;
  GenerationConfig& config_;
};

/// The file as an object; an empty one if there is no file.
Json ReadGenerationFile(const std::filesystem::path& path) {
  return FileExists(path) ? ParseObject(ReadRegularFile(path, kMaxGenerationConfigBytes),
                                        OneLinePath(path.string()))
                          : Json::object();
}

}  // namespace

constinit const KeyTable kGenerationConfigKeys = OpenTable(kGenerationRows);

GenerationConfig LoadGenerationConfig(const std::filesystem::path& model_dir,
                                      std::span<const IgnoredKey> ignored) {
  const Json root = ReadGenerationFile(model_dir / kGenerationFile);
  GenerationConfig config;
  GenerationValues values(root, config);
  config.temperature = values.Number("temperature", 100, true, "from 0 to 100");
  config.top_p = values.Number("top_p", 1, false, "above 0 and at most 1");
  config.top_k = values.Integer("top_k", kBestTokens, "top_k");
  config.min_p = values.Number("min_p", 1, true, "from 0 to 1");
  config.repetition_penalty =
      values.Number("repetition_penalty", 100, false, "above 0 and at most 100");
  config.max_new_tokens = values.Integer("max_new_tokens", kTokens, "max_tokens");
  values.CheckEosIds();
  ForEachKey(root, kGenerationConfigKeys, /*family=*/nullptr,
             [&](const std::string& key, const Json& value, const KeyRow& row) {
               const KeyFinding finding = Judge(row, key, value);
               if (finding.use == KeyUse::kRefused) {
                 config.unsupported.push_back({.key = key,
                                               .value = Shown(value),
                                               .why = finding.why,
                                               .request_field = std::string(row.request_field),
                                               .is_of_draws = row.is_of_draws});
               }
             });
  std::erase_if(config.unsupported, [&](const GenerationConfig::Unsupported& one) {
    return std::ranges::find(ignored, IgnoredKey{std::string(kGenerationFile), one.key}) !=
           ignored.end();
  });
  return config;
}

std::vector<TokenId> EosIdsOfGenerationConfig(const std::filesystem::path& model_dir,
                                              std::int64_t vocab_size) {
  const Json root = ReadGenerationFile(model_dir / kGenerationFile);
  std::vector<TokenId> ids;
  const auto add = [&](const Json& id) {
    if (IsIntegerWithin(id, {0, vocab_size - 1})) {
      ids.push_back(id.get<TokenId>());
    }
  };
  if (const auto found = root.find("eos_token_id"); found != root.end()) {
    if (found->is_array()) {
      for (const Json& id : *found) {
        add(id);
      }
    } else {
      add(*found);
    }
  }
  return ids;
}

std::string Describe(const GenerationConfig& config) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) {
      char number[32];
      std::snprintf(number, sizeof(number), "%.6g", static_cast<double>(*value));
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + number;
    }
  };
  add("temperature", config.temperature);
  add("top_p", config.top_p);
  add("top_k", config.top_k);
  add("min_p", config.min_p);
  add("repetition_penalty", config.repetition_penalty);
  add("max_new_tokens", config.max_new_tokens);
  return text;
}

}  // namespace scorecast::proto
