// A piece of text out of Python's hands, read while other threads run.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <string_view>

#include "odca/features/block.hpp"
#include "odca/features/vocabulary.hpp"

namespace odca::bind {

namespace nb = nanobind;

// Anything with a buffer of contiguous bytes.
class Bytes {
 public:
  explicit Bytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&buffer_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  std::string_view text() const {
    return {static_cast<const char*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

// The block that read(text, block) makes; features that have names are looked for in the vocabulary, if there is one.
template <class Read>
std::unique_ptr<text::Block> with_block(nb::handle data, const text::Vocabulary* vocabulary, Read&& read) {
  const Bytes bytes(data);
  auto block = std::make_unique<text::Block>();
  if (vocabulary) block->known = vocabulary->known();
  {
    const nb::gil_scoped_release free_threads;
    read(bytes.text(), *block);
  }
  return block;
}

}  // namespace odca::bind
