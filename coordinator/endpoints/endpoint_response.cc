#include "coordinator/endpoints/endpoint_response.h"

#include <utility>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "coordinator/json/response_form.h"
#include "coordinator/json/response_writer.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;

/// The field `name` of `message`, or null if it has none of this type.
template <typename Field>
Field* FieldOf(Message& message, const char* name) {
  const auto* field = message.GetDescriptor()->FindFieldByName(name);
  if (field == nullptr || field->message_type() != Field::descriptor()) {
    return nullptr;
  }
  return static_cast<Field*>(message.GetReflection()->MutableMessage(&message, field));
}

}  // namespace

EndpointResponse::EndpointResponse(std::unique_ptr<Message> message, const Descriptor* description)
    : message_(std::move(message)),
      description_(description == nullptr ? *message_->GetDescriptor() : *description) {}

EndpointResponse::~EndpointResponse() = default;

void EndpointResponse::WriteJson(JsonWriter& writer) const {
  WriteResponse(*message_, FormOf(*message_->GetDescriptor(), description_),
                {.kept = kept_, .written = &written_}, writer);
}

void EndpointResponse::SetModel(const std::string& model) {
  if (const auto* field = message_->GetDescriptor()->FindFieldByName("model")) {
    message_->GetReflection()->SetString(message_.get(), field, model);
  }
}

void EndpointResponse::Complete(const std::string& model, const ResponseFigures& figures) {
  figures_ = figures;
  SetModel(model);
  if (auto* usage = FieldOf<v1::Usage>(*message_, "usage")) {
    figures_.usage.completion_tokens = usage->completion_tokens();
    usage->set_prompt_tokens(figures_.usage.prompt_tokens);
    usage->set_cached_tokens(figures_.usage.cached_tokens);
    usage->set_total_tokens(figures_.usage.total_tokens());
  }
  if (auto* timings = FieldOf<v1::Timings>(*message_, "timings")) {
    timings->set_queue_ms(figures_.timings.queue_ms);
    timings->set_tokenize_ms(figures_.timings.tokenize_ms);
    timings->set_forward_ms(figures_.timings.forward_ms);
    timings->set_total_ms(figures_.timings.total_ms);
  }
}

}  // namespace scorecast::coordinator
