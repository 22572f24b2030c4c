#include "launcher/client/client_flags.h"

#include <chrono>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "coordinator/schedule/job.h"
#include "launcher/client/client_command.h"
#include "launcher/client/decide_command.h"
#include "launcher/client/drain_command.h"
#include "launcher/client/rerank_command.h"
#include "launcher/client/score_command.h"

namespace scorecast::launcher {
namespace {

/// The flags of TLS to a server. Each of the others implies --tls.
void AddTlsFlags(CLI::App& app, ServerFlags& flags) {
  app.add_flag("--tls", flags.tls,
               "Speaks TLS, and refuses a server whose certificate is not of a known CA or not for "
               "the host of the address");
  const auto implies_tls = [&flags](const std::string&) { flags.tls = true; };
  app.add_option("--tls-ca", flags.tls_files.ca,
                 "Certificates of the CAs of servers, in PEM; implies --tls")
      ->type_name("FILE")
      ->default_str("the system's")
      ->each(implies_tls);
  CLI::Option* const certificate =
      app.add_option("--tls-client-cert", flags.tls_files.certificate,
                     "Own certificate, in PEM, for a server with --tls-client-ca; implies --tls")
          ->type_name("FILE")
          ->each(implies_tls);
  CLI::Option* const key =
      app.add_option("--tls-client-key", flags.tls_files.key, "Its key, in PEM")
          ->type_name("FILE")
          ->needs(certificate);
  certificate->needs(key);
  app.add_option("--tls-server-name", flags.tls_server_name,
                 "Name or IP address that the server's certificate must have, if it is not the "
                 "host of the address; implies --tls")
      ->type_name("NAME")
      ->each(implies_tls);
}

/// The flags of every command that sends one request to a server.
void AddClientFlags(CLI::App& app, ClientFlags& flags) {
  AddServerFlags(app, flags);
  app.add_flag("--json", flags.json, "Prints the whole response as JSON");
}

}  // namespace

void AddConnectionFlags(CLI::App& app, ServerFlags& flags) {
  CLI::Option_group* server = app.add_option_group("Server");
  server->add_option("--connect", flags.connect, "Address of the server's request socket")
      ->type_name("HOST:PORT");
  server
      ->add_option("--connect-file", flags.connect_file,
                   "Instead of --connect: the file that serve --address-file writes. If there is "
                   "none, waits for it, for ten seconds at most")
      ->type_name("FILE");
  server->require_option(1);
  app.add_option("--api-key", flags.api_key,
                 "Key that is shown to the server. Better in the variable, because other users of "
                 "the host see command lines")
      ->envname("SCORECAST_API_KEY")
      ->type_name("KEY");
  app.add_option_function<double>(
         "--timeout",
         [&flags](double seconds) {
           flags.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
         },
         "Seconds until the server must have replied. Until then a connection that is refused or "
         "lost is tried again")
      ->check(CLI::Range(0.001, 86400.0))
      ->default_str(
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(flags.timeout).count()));
  AddTlsFlags(app, flags);
}

void AddServerFlags(CLI::App& app, ServerFlags& flags) {
  AddConnectionFlags(app, flags);
  app.add_option("--timeout-ms", flags.timeout_ms, "Milliseconds after which a request is dropped")
      ->default_str("none");
  app.add_option("--priority", flags.priority,
                 "Share of the server's time: from -10, the largest, to 10, the smallest")
      ->check(CLI::Range(std::int64_t{coordinator::kMinPriority},
                         std::int64_t{coordinator::kMaxPriority}))
      ->capture_default_str();
}

void AddScoreFlags(CLI::App& app, ScoreFlags& flags) {
  app.add_option("--query", flags.query, "Text of the query")->required();
  app.add_option("--item", flags.items, "Text of an item; repeat for each item")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--label", flags.labels, "Text of a label, one token; repeat for each label")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--label-token-id", flags.label_token_ids,
                 "Token id of a label, instead of --label")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--apply-softmax", flags.apply_softmax,
               "Probabilities among the labels, not over the whole vocabulary");
  app.add_option("--activation", flags.activation,
                 "For a classifier, which has no labels: none, softmax or sigmoid of the classes' "
                 "logits")
      ->default_str("none");
  app.add_flag("--item-first", flags.item_first,
               "Puts the item before the query; ignored with --enable-mis or a delimiter");
  app.add_option("--temperature", flags.temperature, "Temperature of the softmax")
      ->capture_default_str();
  app.add_flag("--return-token-logprobs", flags.return_token_logprobs,
               "With --json: also the labels' log-probabilities over the vocabulary");
  app.add_option("--top-logprobs", flags.top_logprobs,
                 "With --json: also this many most likely tokens")
      ->capture_default_str();
  AddClientFlags(app, flags);
}

void AddRerankFlags(CLI::App& app, RerankFlags& flags) {
  app.add_option("--query", flags.query, "Text of the query")->required();
  app.add_option("--document", flags.documents, "Text of a document; repeat for each document")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--documents", flags.documents_file,
                 "Further documents, one per line; -: standard input. Blank lines are skipped")
      ->type_name("FILE");
  app.add_option("--instruction", flags.instruction,
                 "What relevance means, instead of the instruction of the server's template");
  app.add_option("--top-n", flags.top_n, "Prints only so many of the best documents; 0: all")
      ->capture_default_str();
  app.add_option("--max-tokens-per-doc", flags.max_tokens_per_doc,
                 "Longer documents are cut; 0: only the model's length limits them")
      ->capture_default_str();
  app.add_flag("--raw-scores", flags.raw_scores,
               "Logits, or their difference, instead of the template's formula");
  AddClientFlags(app, flags);
}

void AddDecideFlags(CLI::App& app, DecideFlags& flags) {
  CLI::Option_group* request = app.add_option_group("Request");
  request
      ->add_option("--state", flags.state_file,
                   "Text that the questions are about; -: standard input. The line end at the "
                   "file's end is left out")
      ->type_name("FILE");
  request
      ->add_option("--state-json", flags.state_json_file,
                   "Instead of --state: an object or a list, which the server's template shows")
      ->type_name("FILE");
  request
      ->add_option("--input", flags.input_file,
                   "Instead of all flags about the request: a body of /v1/systemone")
      ->type_name("FILE");
  request->require_option(1);
  // The callback is called for each flag as it is parsed, so questions have the order of the
  // command line.
  const auto add_question = [&](const std::string& name, const std::string& type,
                                const std::string& form, const std::string& description) {
    app.add_option_function<std::string>(
           name,
           [&flags, type](const std::string& text) {
             flags.questions.push_back({.type = type, .text = text});
           },
           description)
        ->type_name(form)
        ->trigger_on_parse();
  };
  add_question("--question", "noul", "TEXT",
               "A question with the answers true and false, or a statement; repeat for each. "
               "Questions are asked in the order of the command line");
  add_question("--choice", "choice", "ID=OPTION,…",
               "A question with one of these options as its answer; repeat for each. The text "
               "before = is shown to the model. A comma in an option is written \\,");
  add_question("--score", "score", "ID=LEVEL,…",
               "A question whose answer is one of these levels, the lowest first; repeat for each");
  app.add_option("--instructions", flags.instructions,
                 "Text that the model gets for a question instead of its ID, which for --question "
                 "is its text; repeat for each")
      ->type_name("ID=TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--x-orders", flags.x_orders,
                 "2: asks each question also with its options reversed, and averages; not with "
                 "--score")
      ->capture_default_str();
  app.add_flag("--x-label-mass", flags.x_label_mass,
               "Also how much of the model's probability the labels of the options have together");
  AddClientFlags(app, flags);
}

void AddDrainFlags(CLI::App& app, DrainFlags& flags) {
  app.add_option("NAME", flags.replica, "Name of the service in the front's --replicas")
      ->required();
  app.add_option("--front-key", flags.front_key,
                 "File with the front's key, alone in its first line: that of scorecast front")
      ->required()
      ->type_name("FILE");
  AddConnectionFlags(app, flags);
}

}  // namespace scorecast::launcher
