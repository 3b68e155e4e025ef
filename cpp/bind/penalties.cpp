#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

void bind_penalties(nb::module_& m) {
  nb::class_<PyPenalty>(m, "Penalty")
      .def_static("l2", [] { return PyPenalty{L2{}}; })
      .def_static(
          "separable", [](double delta, double lo, double hi) { return PyPenalty{Separable{delta, lo, hi}}; },
          nb::arg("delta"), nb::arg("lo"), nb::arg("hi"))
      .def_static(
          "kl", [](const Vector<double>& log_prior) { return PyPenalty{KL{to_vector(log_prior)}}; },
          nb::arg("log_prior"));
}

}  // namespace odca::bind
