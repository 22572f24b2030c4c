#include "coordinator/request/request_error.h"

#include <new>
#include <utility>

namespace scorecast::coordinator {

proto::Error BadRequest(std::string reason, std::string message, std::string param) {
  return {400, std::move(reason), std::move(message), std::move(param)};
}

proto::Error NoTokenizer(std::string param) {
  return BadRequest("no_tokenizer",
                    "This model has no tokenizer: the request must give token ids, not text.",
                    std::move(param));
}

proto::Error InvalidUtf8(std::string param) {
  return BadRequest("invalid_utf8", param + " is not valid UTF-8.", param);
}

proto::Error NotForClassifiers(std::string param) {
  return BadRequest("not_for_classifiers",
                    param + " needs a language model, but this model is a classifier.", param);
}

proto::Error OnlyForClassifiers(std::string param) {
  return BadRequest("only_for_classifiers",
                    param + " needs a classifier, but this model is a language model.", param);
}

proto::Error NoSuchModel(std::string_view name, std::string_view served) {
  return {404, "model_not_found",
          "The model " + Quoted(name) + " does not exist: this server has " + Quoted(served) + ".",
          "model"};
}

proto::Error FaultOf(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {503, "overloaded", "The server has no memory for the request.", "", 1};
  }
  return {500, "internal_error",
          std::string("The request could not be handled: ") + exception.what(), ""};
}

std::string At(std::string_view field, std::size_t index) {
  return std::string(field) + "[" + std::to_string(index) + "]";
}

}  // namespace scorecast::coordinator
