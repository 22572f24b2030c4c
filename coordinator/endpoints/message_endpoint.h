#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::coordinator {

/// One form of an endpoint's requests.
struct RequestForm {
  std::unique_ptr<const BodyForm> form;
  /// Makes an empty request.
  std::function<std::unique_ptr<ReadRequest>()> make;
  ModelKinds kinds;  ///< See EndpointRequest.
};

/// The form of requests with the fields of `Message`, or a dialect of it.
template <typename Message>
RequestForm RequestFormOf(const typename MessageRequest<Message>::Uses& uses,
                          std::string_view dialect = Message::descriptor()->name()) {
  return {std::make_unique<const BodyForm>(*Message::descriptor(), dialect),
          [uses] { return std::make_unique<MessageRequest<Message>>(uses); }, uses.kinds};
}

/// An endpoint whose requests are messages, described in proto/scorecast.proto.
class MessageEndpoint : public Endpoint {
 public:
  /// The first form is that of bodies that have no other. `forms` are made by
  /// RequestFormOf.
  template <typename... Forms>
  MessageEndpoint(std::string_view name, std::vector<std::string_view> urls,
                  std::vector<const ResponseForm*> response_forms, Forms... forms)
      : name_(name), urls_(std::move(urls)), response_forms_(std::move(response_forms)) {
    (forms_.push_back(std::move(forms)), ...);
    Index();
  }

  std::string_view name() const override { return name_; }
  std::span<const std::string_view> urls() const override { return urls_; }
  int message_field() const override { return message_field_; }
  std::span<const BodyForm* const> forms() const override { return form_list_; }
  ModelKinds kinds() const override { return kinds_; }

  std::vector<const ResponseForm*> response_forms() const override { return response_forms_; }

  ParsedRequest FromJson(BodyJson body) const override;
  ParsedRequest FromMessage(v1::Request message) const override;

 private:
  void Index();

  const std::string_view name_;
  const std::vector<std::string_view> urls_;
  const std::vector<const ResponseForm*> response_forms_;
  std::vector<RequestForm> forms_;
  std::vector<const BodyForm*> form_list_;
  ModelKinds kinds_ = {};  ///< Those of all forms.
  int message_field_ = 0;  ///< That of the first form.
};

}  // namespace scorecast::coordinator
