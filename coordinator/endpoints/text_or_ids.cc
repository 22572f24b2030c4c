#include "coordinator/endpoints/text_or_ids.h"

namespace scorecast::coordinator {

TextOrIds ViewOf(const v1::TextOrIds& message) {
  if (message.has_ids()) {
    return ViewOf(message.ids());
  }
  return std::string_view(message.text());
}

TextOrId ViewOf(const v1::TextOrId& message) {
  if (message.has_id()) {
    return message.id();
  }
  return std::string_view(message.text());
}

std::vector<TextOrIds> ViewsOf(const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages) {
  std::vector<TextOrIds> views;
  views.reserve(SizeOf(messages));
  for (const v1::TextOrIds& message : messages) {
    views.push_back(ViewOf(message));
  }
  return views;
}

std::vector<std::string_view> ViewsOf(
    const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

void ViewIds(const v1::LabelTokenIds& message, GivenLabels& given) {
  switch (message.value_case()) {
    case v1::LabelTokenIds::kForAll:
      given.ids.emplace({ViewOf(message.for_all())});
      break;
    case v1::LabelTokenIds::kPerItem:
      given.ids.emplace();
      given.ids_per_item = true;
      for (const v1::TokenIds& list : message.per_item().lists()) {
        given.ids->push_back(ViewOf(list));
      }
      break;
    case v1::LabelTokenIds::VALUE_NOT_SET:
      break;
  }
}

}  // namespace scorecast::coordinator
