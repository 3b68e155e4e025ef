// The learners that O-DCA is compared with; odca.baselines gives them their names.
#include "odca/baselines/primal.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"
#include "odca/baselines/dual_ascent.hpp"

namespace odca::bind {

namespace {

// Keeps the loss, whose Python methods the options only borrow.
struct PyPrimal {
  PrimalLearner learner;
  nb::object loss;
};

PyPrimal make(const nb::object& loss, bool implicit, const std::string& kind, double rate, double rho, double epsilon,
              double kappa, const Vector<double>& start) {
  using Rate = PrimalOptions::Rate;
  const Rate chosen = kind == "pegasos" ? Rate::pegasos : kind == "normalised" ? Rate::normalised : Rate::constant;
  std::vector<double> begin(start.data(), start.data() + start.shape(0));
  return {PrimalLearner(
              {nb::cast<const PyLoss&>(loss).loss, implicit, chosen, rate, rho, epsilon, kappa, std::move(begin)}),
          loss};
}

nb::ndarray<nb::numpy, double> learn(PyPrimal& self, const PyMatrix& x, const Vector<double>& y) {
  if (y.shape(0) != static_cast<std::size_t>(x.batch.rows)) throw InputError("y must have a label for each row of X");
  std::vector<double> margins(y.shape(0));
  {
    const nb::gil_scoped_release free_threads;
    self.learner.learn(x.batch, y.data(), margins.data(), signal_arrived);
  }
  raise_if_interrupted();
  return to_numpy(std::move(margins));
}

struct PyAscent {
  DualAscent ascent;
  nb::object loss;
  std::int64_t rows, features;
};

void visit(PyAscent& self, const PyMatrix& x, const Vector<double>& y, const Vector<std::int64_t>& order) {
  if (x.batch.rows != self.rows || y.shape(0) != static_cast<std::size_t>(self.rows) ||
      x.batch.features() > self.features)
    throw InputError("X and y must be those that the ascent was made for");
  const std::span<const std::int64_t> rows(order.data(), order.shape(0));
  for (const std::int64_t row : rows)
    if (row < 0 || row >= self.rows) throw InputError("order must hold rows of X");
  {
    const nb::gil_scoped_release free_threads;
    self.ascent.visit(x.batch, y.data(), rows, signal_arrived);
  }
  raise_if_interrupted();
}

}  // namespace

void bind_baselines(nb::module_& m) {
  nb::class_<PyPrimal>(m, "PrimalLearner")
      .def(nb::new_(&make), nb::kw_only(), nb::arg("loss"), nb::arg("implicit"), nb::arg("kind"), nb::arg("rate"),
           nb::arg("rho"), nb::arg("epsilon"), nb::arg("kappa"), nb::arg("start"))
      .def("learn", &learn, nb::arg("x"), nb::arg("y"))
      .def_prop_ro("count", [](const PyPrimal& self) { return self.learner.count(); })
      .def("weights", [](const PyPrimal& self) { return to_numpy(self.learner.weights()); })
      .def("smoothed_weights", [](const PyPrimal& self) { return to_numpy(self.learner.smoothed_weights()); });
  nb::class_<PyAscent>(m, "DualAscent")
      .def(nb::new_([](const nb::object& loss, double rho, std::int64_t rows, std::int64_t features) {
             return PyAscent{{nb::cast<const PyLoss&>(loss).loss, rho, rows, features}, loss, rows, features};
           }),
           nb::kw_only(), nb::arg("loss"), nb::arg("rho"), nb::arg("rows"), nb::arg("features"))
      .def("visit", &visit, nb::arg("x"), nb::arg("y"), nb::arg("order"))
      .def("weights", [](const PyAscent& self) { return to_numpy(self.ascent.weights()); })
      .def("duals", [](const PyAscent& self) { return to_numpy(self.ascent.duals()); });
}

}  // namespace odca::bind
