// Status: the result of an internal operation. OK costs one pointer compare; an error carries the sentence
// that the user will read. Errors change form once per edge: CUDA -> Status inside, Status -> ncclResult_t at
// the exports. Thread safety: a Status is a value.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace nccl_slab {

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status ok() { return Status(); }
  static Status error(std::string what) {
    Status status;
    status.what_ = std::make_shared<const std::string>(std::move(what));
    return status;
  }

  bool is_ok() const { return what_ == nullptr; }
  explicit operator bool() const { return is_ok(); }
  // The sentence of an error; "OK" otherwise.
  const std::string& what() const {
    static const auto* ok =
        new std::string("OK");  // never destroyed: threads of ours may outlive static objects
    return what_ ? *what_ : *ok;
  }

 private:
  std::shared_ptr<const std::string> what_;
};

}  // namespace nccl_slab
