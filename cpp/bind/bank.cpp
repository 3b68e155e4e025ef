#include "odca/experts/bank.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using bank::Bank;
using bank::Task;
using State = nb::typed<nb::dict, nb::str, nb::ndarray<nb::numpy, double>>;

std::unique_ptr<Bank> make(const std::string& task, int classes) {
  if (task != "classes" && task != "numbers")
    throw InputError("task must be 'classes' or 'numbers'; got '" + task + "'");
  return std::make_unique<Bank>(task == "numbers" ? Task::numbers
                                : classes > 2     ? Task::classes
                                                  : Task::two_classes,
                                classes);
}

nb::ndarray<nb::numpy, double> learn(Bank& self, const PyMatrix& x, const Vector<double>& y,
                                     const std::optional<Vector<double>>& weight,
                                     const std::optional<Vector<double>>& time) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  for (const auto* each : {&weight, &time})
    if (*each && (*each)->shape(0) != rows) throw InputError("sample_weight and time must be as long as X");
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  std::vector<double> told;
  {
    const nb::gil_scoped_release free_threads;
    told = self.learn({x.batch, y.data(), weight ? weight->data() : nullptr, time ? time->data() : nullptr},
                      signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = rows ? told.size() / rows : static_cast<std::size_t>(self.heads());
  return to_numpy(std::move(told), {rows, heads});
}

// What each lane said, [event][head][lane].
nb::ndarray<nb::numpy, double> learn_lanes(Bank& self, const PyMatrix& x, const Vector<double>& y) {
  const auto rows = static_cast<std::size_t>(x.batch.rows), heads = static_cast<std::size_t>(self.heads());
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  std::vector<double> margins;
  {
    const nb::gil_scoped_release free_threads;
    self.learn({x.batch, y.data()}, signal_arrived, &margins);
  }
  raise_if_interrupted();
  return to_numpy(std::move(margins), {rows, heads, static_cast<std::size_t>(bank::lanes)});
}

nb::ndarray<nb::numpy, double> predict(const Bank& self, const PyMatrix& x) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  std::vector<double> told;
  {
    const nb::gil_scoped_release free_threads;
    told = self.predict(x.batch, signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = rows ? told.size() / rows : static_cast<std::size_t>(self.heads());
  return to_numpy(std::move(told), {rows, heads});
}

State get_state(const Bank& self) {
  Bank::State parts;
  {
    const nb::gil_scoped_release free_threads;
    parts = self.state();
  }
  State out;
  for (auto& [name, values] : parts) out[nb::str(name.c_str())] = to_numpy(std::move(values));
  return out;
}

void set_state(Bank& self, const nb::typed<nb::dict, nb::str, Vector<double>>& state) {
  Bank::State parts;
  for (const auto& [name, values] : nb::dict(state))
    parts.emplace_back(nb::cast<std::string>(name), to_vector(nb::cast<Vector<double>>(values)));
  const nb::gil_scoped_release free_threads;
  self.restore(parts);
}

}  // namespace

void bind_bank(nb::module_& m) {
  nb::class_<Bank>(m, "Bank")
      .def(nb::new_(&make), nb::kw_only(), nb::arg("task"), nb::arg("classes"))
      .def("learn", &learn, nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("time").none())
      .def("learn_lanes", &learn_lanes, nb::arg("x"), nb::arg("y"))
      .def("predict", &predict, nb::arg("x"))
      .def("declare", &Bank::declare, nb::arg("classes"), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("count", &Bank::count, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("features", &Bank::features, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("classes", &Bank::classes)
      .def_prop_ro("mean_norm", &Bank::mean_norm, nb::call_guard<nb::gil_scoped_release>())
      .def("weights",
           [](const Bank& self) {
             const bank::PerLaneArray weights = self.weights();
             return to_numpy(std::vector<double>(weights.begin(), weights.end()));
           })
      .def("history",
           [](const Bank& self) {
             std::vector<double> rows = self.history();
             const std::size_t count = rows.size() / bank::History::width;
             return to_numpy(std::move(rows), {count, bank::History::width});
           })
      .def("state", &get_state)
      .def("restore", &set_state, nb::arg("state"));
}

}  // namespace odca::bind
