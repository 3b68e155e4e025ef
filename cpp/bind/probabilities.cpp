// Probabilities of many events; fast_models.cpp has those of one.
#include "odca/math/probabilities.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using Rows = nb::ndarray<nb::numpy, double>;

Rows sigmoid(const Matrix2& z) {
  std::vector<double> p(z.data(), z.data() + z.size());
  for (double& each : p) each = probabilities::sigmoid(each);
  return to_numpy(std::move(p), {z.shape(0), z.shape(1)});
}

Rows one_against_rest(const Matrix2& p, const Matrix2& scores) {
  const std::size_t rows = p.shape(0), classes = p.shape(1);
  if (scores.shape(0) != rows || scores.shape(1) != classes || classes == 0)
    throw nb::value_error("there must be a score for each probability");
  std::vector<double> out(p.data(), p.data() + p.size());
  for (std::size_t i = 0; i < rows; ++i)
    probabilities::one_against_rest(classes, scores.data() + i * classes, out.data() + i * classes);
  return to_numpy(std::move(out), {rows, classes});
}

Rows softmax(const Matrix2& x) {
  const std::size_t rows = x.shape(0), classes = x.shape(1);
  if (classes == 0) throw nb::value_error("there must be at least one class");
  std::vector<double> out(x.data(), x.data() + x.size());
  for (std::size_t i = 0; i < rows; ++i) probabilities::softmax(classes, out.data() + i * classes);
  return to_numpy(std::move(out), {rows, classes});
}

// Without releasing the interpreter lock: that takes longer than the work, since other threads are waiting for it.
Rows lane_labels(const Vector<std::int32_t>& codes, const Vector<std::int32_t>& owners) {
  std::vector<double> out(codes.shape(0) * owners.shape(0));
  double* label = out.data();
  for (std::size_t i = 0; i < codes.shape(0); ++i)
    for (std::size_t l = 0; l < owners.shape(0); ++l) *label++ = codes.data()[i] == owners.data()[l] ? 1.0 : -1.0;
  return to_numpy(std::move(out), {codes.shape(0), owners.shape(0)});
}

}  // namespace

void bind_probabilities(nb::module_& m) {
  m.def("sigmoid", &sigmoid, nb::arg("z"), "1 / (1 + e^-z), without overflow.");
  m.def("one_against_rest", &one_against_rest, nb::arg("p"), nb::arg("scores"),
        "The probabilities of three classes or more, from P(+1) of the lane of each, and its score.");
  m.def("lane_labels", &lane_labels, nb::arg("codes"), nb::arg("owners"),
        "+1 where the class of an event is the one that owns the lane, else -1: a row for each event.");
  m.def("softmax", &softmax, nb::arg("x"), "e^x over their sum, of log probabilities or logits.");
}

}  // namespace odca::bind
