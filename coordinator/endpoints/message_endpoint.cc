#include "coordinator/endpoints/message_endpoint.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "coordinator/json/body_members.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

using proto::Unexpected;

const std::string& ReadRequest::NameOf(int field) const {
  const auto found = std::ranges::find_if(
      notes.other_names, [&](const FormField* one) { return one->field->number() == field; });
  return found != notes.other_names.end() ? (*found)->name
                                          : form->NameOf(*form->message().FindFieldByNumber(field));
}

std::string ReadRequest::SizeField(std::span<const int> of_tokens) const {
  const google::protobuf::Message& message = base_message();
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> given;
  reflection.ListFields(message, &given);
  const google::protobuf::FieldDescriptor* longest = nullptr;
  int most = 0;
  for (const google::protobuf::FieldDescriptor* const field : given) {
    if (std::ranges::find(of_tokens, field->number()) != of_tokens.end()) {
      return NameOf(field->number());
    }
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    if (size > most) {
      longest = field;
      most = size;
    }
  }
  return longest == nullptr ? std::string() : NameOf(longest->number());
}

bool ReadRequest::IsStringOf(int truth, int text) const {
  return NameOf(text) == form->NameOf(*form->message().FindFieldByNumber(truth));
}

bool ReadRequest::IsEmptyList(int field) const {
  return std::ranges::any_of(notes.empty_lists,
                             [&](const auto* one) { return one->number() == field; });
}

void MessageEndpoint::Index() {
  for (const RequestForm& form : forms_) {
    form_list_.push_back(form.form.get());
    kinds_ = kinds_ | form.kinds;
  }
  if (form_list_.front()->is_dialect()) {
    return;  // The message is the endpoint's whose own form it is.
  }
  const google::protobuf::Descriptor& requests = *v1::Request::descriptor();
  for (int i = 0; i < requests.field_count(); ++i) {
    if (requests.field(i)->message_type() == &form_list_.front()->message()) {
      message_field_ = requests.field(i)->number();
    }
  }
}

ParsedRequest MessageEndpoint::FromJson(BodyJson body) const {
  const auto has = [&](const std::string& field) { return HasMember(body, field); };
  auto form = std::find_if(forms_.begin() + 1, forms_.end(),
                           [&](const RequestForm& one) { return one.form->IsThatOf(has); });
  if (form == forms_.end()) {
    form = forms_.begin();
  }
  std::unique_ptr<ReadRequest> request = form->make();
  request->form = form->form.get();
  proto::Expected<BodyNotes> notes =
      ReadBody(std::move(body), *request->form, request->base_message());
  if (!notes) {
    return Unexpected(std::move(notes).error());
  }
  request->notes = *std::move(notes);
  request->SetOptions();
  return std::unique_ptr<EndpointRequest>(std::move(request));
}

ParsedRequest MessageEndpoint::FromMessage(v1::Request message) const {
  std::unique_ptr<ReadRequest> request = forms_.front().make();
  request->form = forms_.front().form.get();
  request->is_message = true;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  google::protobuf::Message& fields = *reflection.MutableMessage(
      &message, message.GetDescriptor()->FindFieldByNumber(message_field_));
  fields.GetReflection()->Swap(&request->base_message(), &fields);
  if (std::optional<proto::Error> fault =
          CompleteMessage(*request->form, request->base_message())) {
    return Unexpected(*std::move(fault));
  }
  request->SetOptions();
  return std::unique_ptr<EndpointRequest>(std::move(request));
}

}  // namespace scorecast::coordinator
