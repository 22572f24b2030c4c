#include "launcher/commands/command_line.h"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "coordinator/text/unicode/utf8.h"
#include "launcher/commands/foreign_flags.h"
#include "proto/base/nearest_name.h"
#include "proto/base/one_line.h"

namespace scorecast::launcher {
namespace {

using coordinator::ChunkPositionStrategy;
using coordinator::DelimiterVisibility;
using coordinator::ItemTokenization;
using coordinator::RerankForm;
using coordinator::SpecialTokensInText;

std::string SeparatorFault(const std::string& separator) {
  if (separator.empty()) {
    return "--chunk-separator must not be empty";
  }
  return coordinator::IsValidUtf8(separator) ? "" : "--chunk-separator must be valid UTF-8";
}

/// A silence of less than a second means nothing, because ranks report only four times a second.
std::string RankTimeoutFault(const std::string& text) {
  const bool is_off = CLI::Range(0.0, 0.0)(text).empty();
  return is_off ? "" : CLI::Range(1.0, 86400.0)(text);
}

void AddWatchFlags(CLI::App& app, shard::WatchLimits& watch) {
  app.add_option_function<double>(
         "--rank-timeout",
         [&watch](double seconds) { watch.rank_timeout = std::chrono::duration<double>(seconds); },
         "Seconds for which a rank may be silent, or no rank may advance in a pass, before the job "
         "ends with exit code 75; 0: without limit")
      ->check(CLI::Validator(RankTimeoutFault, "SECONDS"))
      ->default_str("30");
  app.add_option("--slow-pass-factor", watch.slow_pass_factor,
                 "A pass is logged as slow if it takes this many times as long as expected, and at "
                 "least 5 s")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
}

void AddChunkFlags(CLI::App& app, coordinator::ChunkOptions& chunks) {
  app.add_flag(
      "--enable-chunk-aware", chunks.enable_chunk_aware,
      "Splits a prompt at its separators into a system prompt, chunks that do not attend to "
      "each other, and a question");
  app.add_option("--chunk-separator", chunks.separator, "Text between these parts")
      ->check(CLI::Validator(SeparatorFault, "TEXT"))
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--chunk-position-strategy",
         [&chunks](const std::string& name) {
           chunks.position_strategy =
               name == "offset" ? ChunkPositionStrategy::kOffset : ChunkPositionStrategy::kShared;
         },
         "Positions of the chunks. shared: each starts right after the system prompt; offset: each "
         "starts where the chunk before it ends")
      ->check(CLI::IsMember({"shared", "offset"}))
      ->default_str("shared");
  app.add_option("--max-chunk-len", chunks.max_chunk_len, "Tokens of one chunk, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command :
       app.get_subcommands([](const CLI::App* /*command*/) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// "batch, serve or inspect"
std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string DidYouMean(std::string_view given, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view nearest = proto::NearestName(given, views);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

/// The flags of the command that is given, "--model".
std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  const auto add = [&names](const CLI::App& part) {
    for (const CLI::Option* const option : part.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  };
  for (const CLI::App* const command : app.get_subcommands()) {
    add(*command);
    for (const CLI::App* const group : command->get_subcommands([](const CLI::App* part) {
           return part->get_name().empty();  // Groups of options have no names.
         })) {
      add(*group);
    }
  }
  return names;
}

std::string UnknownText(const CLI::App& app, const std::vector<std::string>& unknown) {
  std::string text = unknown.size() == 1 ? "unknown argument:" : "unknown arguments:";
  for (const std::string& argument : unknown) {
    text += " " + argument;
  }
  std::string hints;
  for (const std::string& argument : unknown) {
    const std::string flag = argument.substr(0, argument.find('='));
    const std::string hint = HintForFlag(flag);
    hints += hint.empty() ? "" : "; " + flag + ": " + hint;
  }
  const std::string first = unknown.front().substr(0, unknown.front().find('='));
  return text + (hints.empty() ? DidYouMean(first, FlagNames(app)) : hints);
}

/// The text between `before` and `after`. Empty if `text` does not have both.
std::string_view Between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

/// CLI11's sentence, or a plainer one. CLI11 gives the flag's name and value only in its sentences,
/// so they are taken from there.
std::string Reworded(std::string_view text) {
  if (const auto flag = Between(text, "", ": At Most 1 required but received"); !flag.empty()) {
    return std::string(flag) + " is given more than once";
  }
  if (const auto flag = Between(text, "", ": 1 required "); !flag.empty()) {
    return std::string(flag) + " needs a value";
  }
  constexpr std::string_view kConversion = "Could not convert: ";
  if (const auto flag = Between(text, kConversion, " = "); !flag.empty()) {
    const std::string_view value = text.substr(kConversion.size() + flag.size() + 3);
    return std::string(flag) + ": " + proto::Quoted(value) + " is not a value that it can have";
  }
  if (const auto flags = Between(text, "Exactly 1 option from [", "] is required");
      !flags.empty()) {
    return "exactly one of these is needed: " + std::string(flags);
  }
  return std::string(text);
}

}  // namespace

void AddSpecialTokensFlag(CLI::App& app, coordinator::SpecialTokensInText& special_tokens) {
  app.add_option_function<std::string>(
         "--special-tokens-in-text",
         [&special_tokens](const std::string& name) {
           special_tokens =
               name == "escape" ? SpecialTokensInText::kEscape : SpecialTokensInText::kAllow;
         },
         "What special tokens become that are spelled in a text. allow: special tokens; escape: "
         "plain text")
      ->check(CLI::IsMember({"allow", "escape"}))
      ->default_str("allow");
}

void AddLogLevelFlag(CLI::App& app, std::string& log_level) {
  app.add_option("--log-level", log_level, "Level of the log on standard error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

void AddEngineFlags(CLI::App& app, EngineFlags& flags) {
  app.add_option("--model", flags.model,
                 "Hugging Face model directory: config.json, *.safetensors and the tokenizer")
      ->required()
      ->type_name("DIR");
  app.add_option("--served-model-name", flags.served_model_name,
                 "Name of the model in responses to requests that name none, and in /v1/models; "
                 "the directory's name by default")
      ->type_name("NAME");
  app.add_flag("--strict-model-name", flags.server.strict_model_name,
               "Refuses requests that name another model, with a 404. Otherwise any name is taken, "
               "and returned in the response");
  app.add_flag(
      "--one-by-one", flags.server.one_by_one,
      "Scores each item of a request by itself. Otherwise the items of a request share the "
      "rows of its query (multi-item mode)");
  app.add_flag("--enable-mis", flags.server.enable_mis,
               "Multi-item mode with SGLang's rules: a request has at most "
               "--max-multi-item-seq-len tokens, its items are tokenized alone, and item_first is "
               "ignored");
  app.add_option("--multi-item-scoring-delimiter", flags.delimiter,
                 "The same rules, and a token that no query or item may contain: an id (all "
                 "digits), or text that is exactly one token")
      ->type_name("ID|TEXT");
  app.add_option_function<std::string>(
         "--delimiter-visibility",
         [&flags](const std::string& name) {
           flags.server.delimiter_visibility =
               name == "first" ? DelimiterVisibility::kFirst : DelimiterVisibility::kHidden;
         },
         "hidden: each item is scored as if it alone followed the query; first: each item also "
         "attends to the first delimiter")
      ->check(CLI::IsMember({"hidden", "first"}))
      ->default_str("hidden");
  app.add_option_function<std::string>(
         "--item-tokenization",
         [&flags](const std::string& name) {
           flags.server.item_tokenization =
               name == "alone" ? ItemTokenization::kAlone : ItemTokenization::kContinued;
         },
         "Tokens of an item if query and items are text. continued: those that it has in the joint "
         "text of query and item; alone: those of the item encoded by itself")
      ->check(CLI::IsMember({"continued", "alone"}))
      ->default_str("continued; alone with --enable-mis or a delimiter");
  app.add_option_function<std::string>(
         "--rerank-response",
         [&flags](const std::string& name) {
           flags.server.rerank_form = name == "sglang" ? RerankForm::kSglang : RerankForm::kResults;
         },
         "Form of responses to rerank requests with documents. results: an object, for clients of "
         "Cohere, Jina and vLLM; sglang: SGLang's list")
      ->check(CLI::IsMember({"results", "sglang"}))
      ->default_str("results");
  app.add_option("--max-items", flags.server.max_items,
                 "Items, chunks or questions of one request, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option("--max-multi-item-seq-len", flags.server.max_multi_item_seq_len,
                 "Tokens computed for one request with --enable-mis or a delimiter, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  AddSpecialTokensFlag(app, flags.server.special_tokens_in_text);
  app.add_option(
         "--task", flags.task,
         "What the model is used for; auto: embed if its modules.json has a Pooling module, "
         "else what its architecture is made for")
      ->check(CLI::IsMember(
          std::vector<std::string>(proto::kTaskNames.begin(), proto::kTaskNames.end())))
      ->capture_default_str();
  app.add_option("--rerank-template", flags.rerank_template,
                 "Prompt and score of rerank requests: the name of a built-in template, or a file")
      ->type_name("NAME|FILE")
      ->default_str("what the model directory says");
  app.add_option("--decision-template", flags.decision_template,
                 "Prompt and labels of requests to /v1/systemone: the name of a built-in template, "
                 "or a file")
      ->type_name("NAME|FILE")
      ->default_str("what the model directory says");
  app.add_option("--chat-template", flags.chat_template,
                 "Prompt of requests to /v1/chat/completions: a file with a template in Jinja")
      ->type_name("FILE")
      ->default_str("the model directory's");
  app.add_option("--prompt", flags.prompts,
                 "Text that an embedding model wants before texts of a use, such as query or "
                 "document; may be repeated. Replaces the prompt of this name in the model "
                 "directory")
      ->type_name("NAME=TEXT")
      ->allow_extra_args(false);
  app.add_option("--ignore-config-key", flags.ignored_keys,
                 "Key of a file in the model directory for which the model would be refused: the "
                 "model is loaded as if the file did not have the key; may be repeated. For "
                 "example sentence_bert_config.json:query_expansion")
      ->type_name("FILE:KEY")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--generation-config",
         [&flags](const std::string& name) { flags.reads_generation_config = name == "auto"; },
         "Defaults of requests to /v1/completions. auto: those of the model directory's "
         "generation_config.json; none: the same for every model")
      ->check(CLI::IsMember({"auto", "none"}))
      ->default_str("auto");
  app.add_option("--max-questions", flags.server.max_questions,
                 "Questions of one request to /v1/systemone, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))
      ->capture_default_str();
  AddChunkFlags(app, flags.server.chunks);
  app.add_option(
         "--max-batch-tokens", flags.max_batch_tokens,
         "Tokens of one forward pass, at most. Waiting requests share a pass; a longer request "
         "takes several")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->capture_default_str();
  app.add_option(
         "--kv-cache-mb", flags.kv_cache_mb,
         "MiB on each rank, at most, that cache the keys and values of queries, prompts and "
         "document chunks for later requests; 0: off")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 24))
      ->default_str("1024, or a quarter of the free memory if that is less");
  app.add_option("--max-request-bytes", flags.max_request_bytes,
                 "Bytes of one request or line, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->capture_default_str();
  app.add_option(
         "--threads", flags.threads,
         "Threads of each rank; 0: its share of the CPUs that its affinity and the quotas of its "
         "control groups allow")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--dtype", flags.dtype,
                 "Type of weights and activations in matrix products; auto: bf16 if every CPU has "
                 "instructions for it, else f32")
      ->check(CLI::IsMember({"auto", "f32", "bf16", "int8"}))
      ->capture_default_str();
  app.add_option("--kernel", flags.kernel,
                 "Kernels, and with them the instructions that libraries may use; auto: the best "
                 "for which every rank's CPU has the instructions")
      ->check(CLI::IsMember(KernelNames()))
      ->capture_default_str();
  app.add_flag("--rank-invariant", flags.rank_invariant,
               "Give the same bits on any number of ranks and hosts. Passes take up to 8 % longer "
               "in f32 and "
               "bf16, about 20 % in int8, and more if the number of ranks is no power of two");
  AddWatchFlags(app, flags.watch);
  AddLogLevelFlag(app, flags.log_level);
}

std::string UsageFaultText(const CLI::App& app, const CLI::ParseError& fault) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const bool is_incomplete = dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  if (is_incomplete && app.get_subcommands().empty()) {
    const std::vector<std::string> names = CommandNames(app);
    return unknown.empty() ? "a command is missing: give " + Listed(names)
                           : proto::Quoted(unknown.front()) + " is not a command: give " +
                                 Listed(names) + DidYouMean(unknown.front(), names);
  }
  const bool has_extras = dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr;
  return (is_incomplete || has_extras) && !unknown.empty() ? UnknownText(app, unknown)
                                                           : Reworded(fault.what());
}

}  // namespace scorecast::launcher
