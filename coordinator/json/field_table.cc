#include "coordinator/json/field_table.h"

namespace scorecast::coordinator {

std::string_view Description(FieldType type) {
  switch (type) {
    case FieldType::kString:
      return "a string";
    case FieldType::kStrings:
      return "a list of strings";
    case FieldType::kStringOrStrings:
      return "a string or a list of strings";
    case FieldType::kTextOrId:
      return "a string or a token id";
    case FieldType::kTextOrIds:
      return "a string or a list of token ids";
    case FieldType::kTextOrIdsList:
      return "a list of strings or of lists of token ids";
    case FieldType::kOneOrMoreTextOrIds:
      return "a string, or a list of strings or of lists of token ids";
    case FieldType::kDocuments:
      return "a list of strings or of objects with a text";
    case FieldType::kTokenIds:
      return "a list of token ids";
    case FieldType::kLabels:
      return "a list of token ids, or one such list per item";
    case FieldType::kInteger:
      return "an integer of at most 64 bits";
    case FieldType::kIntegers:
      return "a list of integers";
    case FieldType::kUnsigned:
      return "an integer from 0 to 2^64 - 1";
    case FieldType::kNumber:
      return "a number";
    case FieldType::kBool:
    case FieldType::kBoolOrString:
      return "true or false";
  }
  return {};
}

}  // namespace scorecast::coordinator
