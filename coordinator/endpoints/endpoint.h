#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/endpoint_response.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/completion_position.h"
#include "coordinator/json/body_form.h"
#include "coordinator/json/body_json.h"
#include "coordinator/json/response_form.h"
#include "coordinator/request/model_kind.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/request_options.h"
#include "coordinator/schedule/job.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::v1 {
class Request;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// [sequences][reads] of a job.
using JobRows = std::vector<std::vector<proto::RowLogits>>;

/// How the rows of a job become the response.
struct Readout {
  virtual ~Readout() = default;

  /// Called once, after the job has ended, and not on the computing thread. Returns a 500 if a
  /// number is not finite. Of the fields that EndpointResponse::Complete sets, the response has
  /// only `completion_tokens`. Texts may be moved into it.
  virtual proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) = 0;

  /// The size of the request for the log, such as "3 items".
  virtual std::string Summary() const = 0;
  /// How many texts the response judges: items, documents or questions.
  virtual std::int64_t Items() const = 0;

  std::int64_t prompt_tokens = 0;  ///< See Usage.
};

/// Forms the message of a delta of completion `output`. EndpointResponse::SetModel sets its model.
/// Called by one thread at a time, while the request streams.
using FormDelta =
    std::function<std::unique_ptr<EndpointResponse>(std::size_t output, CompletionDelta delta)>;

/// A request that has passed all checks of its content. A client can no longer be told that its
/// request is wrong, only that the server could not compute it.
struct PreparedRequest {
  std::vector<proto::PackedSequence> sequences;
  std::vector<Generation> generations;
  std::shared_ptr<Readout> readout;
  FormDelta form_delta;  ///< Empty unless the request streams.
};

/// Receives the deltas of completions, one for each token, on the computing thread. Must return
/// soon. `output` is the index of the completion in the response.
using OnDelta = std::function<void(std::size_t output, CompletionDelta delta)>;

/// What a response says of itself besides its content. If a transport gives it, a request that is
/// computed again has the same response.
struct ResponseIdentity {
  std::uint64_t id_seed = 0;  ///< The id follows from it.
  std::int64_t created = 0;   ///< Seconds since 1970.
};

/// How far completions of a response were sent, by their index in it.
using SentPositions = std::map<std::size_t, CompletionPosition>;

/// A parsed request. Its fields have the right types, but their values are not checked yet. They
/// are in a message: see MessageRequest.
struct EndpointRequest : RequestOptions {
  EndpointRequest() = default;
  EndpointRequest(EndpointRequest&&) = default;
  EndpointRequest& operator=(EndpointRequest&&) = default;
  virtual ~EndpointRequest() = default;

  /// The seed of sampled completions if the request gives none. Set by a transport that has a seed;
  /// otherwise one is drawn.
  std::optional<std::uint64_t> default_seed;
  /// If the transport gives none, the id is random and `created` is the time of the response.
  std::optional<ResponseIdentity> identity;
  /// What the client has of a stream that another server has begun. Deltas begin behind that.
  SentPositions sent;

  /// Checks, tokenizes and packs the request. Finds every fault that parsing did not find: a 400
  /// with the field and its index. `on_delta` is empty unless the request streams. Takes the texts
  /// of the request.
  virtual proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                                   const OnDelta& on_delta) && = 0;

  /// Upper bound on the bytes of the response as a message, and of the deltas that may wait beside
  /// it. The model's name does not count.
  virtual std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const = 0;

  /// The client's name of the field that makes a response long, for the error of one that is too
  /// long. Empty if there is none.
  virtual std::string SizeField() const { return {}; }

  /// Whether deltas are sent while completions are generated.
  virtual bool streams() const { return false; }

  /// The kinds of models that can compute such a request. No other member is called for another
  /// kind.
  virtual ModelKinds kinds() const { return ModelKinds::All(); }
};

using ParsedRequest = proto::Expected<std::unique_ptr<EndpointRequest>>;

/// What a request can ask for: a name, a URL, and how requests are parsed. Has no state. Endpoints
/// derive from MessageEndpoint.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  virtual std::string_view name() const = 0;  ///< In the log.
  /// All of them mean the same. The first one is the usual one. One with a name in braces stands
  /// for several paths: see url_pattern.h.
  virtual std::span<const std::string_view> urls() const = 0;
  /// Number of the endpoint's field in v1::Request, or 0 if it has no message.
  virtual int message_field() const { return 0; }
  /// The forms that a body may have. FromJson reads no other fields.
  virtual std::span<const BodyForm* const> forms() const { return {}; }

  virtual ParsedRequest FromJson(BodyJson body) const = 0;
  /// `message` has the endpoint's field, which is moved. Overridden by endpoints that have one; the
  /// default is a broken invariant.
  virtual ParsedRequest FromMessage(v1::Request message) const;

  /// The kinds of models that can compute some of the endpoint's requests.
  virtual ModelKinds kinds() const { return ModelKinds::All(); }

  /// The forms of the responses as JSON.
  virtual std::vector<const ResponseForm*> response_forms() const { return {}; }
  /// That of an error, which has a v1::Error's values.
  virtual const ResponseForm& error_form() const;
  /// A further field of HTTP in which clients look for the id of a request, which is then "req_"
  /// and 32 random hexadecimal digits. Empty if there is none.
  virtual std::string_view id_field() const { return {}; }
  /// Seconds that a request without `timeout_ms` may be predicted to wait for its first pass,
  /// because its clients give up after a time that is known. It gets a 429 if it would wait longer.
  virtual double max_wait_seconds() const { return std::numeric_limits<double>::infinity(); }
  /// Whether a response's `model` is the request's. Otherwise it is the name of the model that is
  /// served.
  virtual bool echoes_model() const { return true; }
  /// The body of an error as the endpoint's clients know it.
  std::string ErrorToJson(const proto::Error& error) const;
};

}  // namespace scorecast::coordinator
