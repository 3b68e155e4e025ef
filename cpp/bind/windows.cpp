#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

void bind_windows(nb::module_& m) {
  using Kind = Window::Kind;
  nb::class_<PyWindow>(m, "Window")
      .def_static(
          "decay", [](const Vector<double>& beta) { return PyWindow{{Kind::decay, to_vector(beta)}}; }, nb::arg("beta"))
      .def_static(
          "half_life", [](const Vector<double>& tau) { return PyWindow{{Kind::half_life, to_vector(tau)}}; },
          nb::arg("tau"))
      .def_static(
          "count", [](std::int64_t length) { return PyWindow{{Kind::count, {1.0}, length}}; }, nb::arg("length"))
      .def_static(
          "duration", [](double duration) { return PyWindow{{Kind::duration, {1.0}, 0, duration}}; },
          nb::arg("duration"));
}

}  // namespace odca::bind
