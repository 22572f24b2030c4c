#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "coordinator/request/server_options.h"
#include "coordinator/resources/resource.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

// What clients read of the model and of the server that serves it.

/// Facts that a service tells about itself. They never change while it runs.
struct ServiceFacts {
  const proto::ModelConfig& config;
  const ServerOptions& options;
  std::string dtype;    ///< That of matrix products: "f32", "bf16" or "int8".
  std::string version;  ///< Version of scorecast.
  std::size_t max_queue = 0;
  std::int64_t max_batch_tokens = 0;
  int tokenizing_threads = 0;
  std::int64_t created = 0;  ///< Time at which the service began, in seconds since 1970.
};

/// GET /info: TEI's description of model and server.
Resource InfoResource(const ServiceFacts& facts);

/// GET /v1/models: OpenAI's list, with the one model of this server.
Resource ModelsResource(const ServiceFacts& facts);

/// GET /v1/models/{id}: the one model, as OpenAI and Xinference describe it. Another id is a 404 in
/// OpenAI's form.
Resource ModelResource(const ServiceFacts& facts);

/// GET /tokenizer_info, as vLLM has it: the content of tokenizer_config.json, in which tokens are
/// texts, also if the file has objects. If that has no `chat_template`, the text of
/// chat_template.jinja is added. If the directory has no tokenizer_config.json, a 404. If there is
/// one, it is a JSON object, because loading the tokenizer has checked it.
Resource TokenizerInfoResource(const std::filesystem::path& model_dir);

}  // namespace scorecast::coordinator
