#include "odca/experts/mixture.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using experts::Expert;
using experts::Experts;
using experts::SavedState;
using experts::Task;
using State = nb::typed<nb::dict, nb::str, nb::any>;

std::unique_ptr<Experts> make(const std::string& task, int classes) {
  if (task != "classes" && task != "numbers")
    throw InputError("task must be 'classes' or 'numbers'; got '" + task + "'");
  return std::make_unique<Experts>(task == "numbers" ? Task::numbers
                                   : classes > 2     ? Task::classes
                                                     : Task::two_classes,
                                   classes);
}

nb::ndarray<nb::numpy, double> learn(Experts& self, const PyMatrix& x, const Vector<double>& y,
                                     const std::optional<Vector<double>>& weight,
                                     const std::optional<Vector<double>>& time) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  for (const auto* each : {&weight, &time})
    if (*each && (*each)->shape(0) != rows) throw InputError("sample_weight and time must be as long as X");
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  std::vector<double> predictions;
  {
    const nb::gil_scoped_release free_threads;
    predictions = self.learn({x.batch, y.data(), weight ? weight->data() : nullptr, time ? time->data() : nullptr},
                             signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = rows ? predictions.size() / rows : static_cast<std::size_t>(self.heads());
  return to_numpy(std::move(predictions), {rows, heads});
}

// The margins of every expert from before each event, [event][head][expert].
nb::ndarray<nb::numpy, double> learn_with_margins(Experts& self, const PyMatrix& x, const Vector<double>& y) {
  const auto rows = static_cast<std::size_t>(x.batch.rows), heads = static_cast<std::size_t>(self.heads());
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  std::vector<double> margins;
  {
    const nb::gil_scoped_release free_threads;
    self.learn({x.batch, y.data()}, signal_arrived, &margins);
  }
  raise_if_interrupted();
  return to_numpy(std::move(margins), {rows, heads, static_cast<std::size_t>(experts::expert_count)});
}

nb::ndarray<nb::numpy, double> predict(const Experts& self, const PyMatrix& x) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  std::vector<double> predictions;
  {
    const nb::gil_scoped_release free_threads;
    predictions = self.predict(x.batch, signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = rows ? predictions.size() / rows : static_cast<std::size_t>(self.heads());
  return to_numpy(std::move(predictions), {rows, heads});
}

State get_state(const Experts& self) {
  SavedState saved;
  {
    const nb::gil_scoped_release free_threads;
    saved = self.state();
  }
  State out;
  out["version"] = to_numpy(std::vector<double>{saved.version});
  out["experts"] = to_numpy(std::vector<std::uint8_t>(saved.experts.begin(), saved.experts.end()));
  for (auto& [name, values] : saved.parts) out[nb::str(name.c_str())] = to_numpy(std::move(values));
  return out;
}

void set_state(Experts& self, const State& state) {
  SavedState saved;
  saved.version = 0.0;
  for (const auto& [key, values] : nb::dict(state)) {
    const auto name = nb::cast<std::string>(key);
    Vector<std::uint8_t> text;
    Vector<double> numbers;
    if (name == "experts" && nb::try_cast(values, text))
      saved.experts.assign(text.data(), text.data() + text.shape(0));
    else if (name == "experts" || !nb::try_cast(values, numbers))
      throw InputError("its array '" + name + "' has the wrong type");
    else if (name == "version" && numbers.shape(0) == 1)
      saved.version = numbers.data()[0];
    else
      saved.parts.emplace_back(name, to_vector(numbers));
  }
  const nb::gil_scoped_release free_threads;
  self.restore(saved);
}

// The table of experts

std::optional<double> unless_zero(double x) { return x > 0.0 ? std::optional(x) : std::nullopt; }

void bind_table(nb::module_& m) {
  nb::class_<Expert>(m, "Expert")
      .def_ro("key", &Expert::key)
      .def_ro("name", &Expert::name)
      .def_ro("parameter", &Expert::parameter)
      .def_ro("memory", &Expert::memory)
      .def_ro("prior", &Expert::prior)
      .def_prop_ro("kind", [](const Expert& self) { return experts::name_of(self.kind); })
      .def_prop_ro("group", &Expert::group)
      .def_prop_ro("events", [](const Expert& self) { return unless_zero(self.events()); })
      .def_prop_ro("per_feature", [](const Expert& self) { return unless_zero(self.per_feature()); });
  m.def("experts", [] { return std::vector<Expert>(experts::table.begin(), experts::table.end()); });
}

}  // namespace

void bind_experts(nb::module_& m) {
  bind_table(m);
  nb::class_<Experts>(m, "Experts")
      .def(nb::new_(&make), nb::kw_only(), nb::arg("task"), nb::arg("classes"))
      .def("learn", &learn, nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("time").none())
      .def("learn_with_margins", &learn_with_margins, nb::arg("x"), nb::arg("y"))
      .def("predict", &predict, nb::arg("x"))
      .def("declare", &Experts::declare, nb::arg("classes"), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("count", &Experts::count, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("features", &Experts::features, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("classes", &Experts::classes)
      .def_prop_ro("mean_norm", &Experts::mean_norm, nb::call_guard<nb::gil_scoped_release>())
      .def("weights", [](const Experts& self) { return to_numpy(self.weights()); })
      .def("history",
           [](const Experts& self) {
             std::vector<double> rows = self.history();
             const std::size_t count = rows.size() / experts::History::width;
             return to_numpy(std::move(rows), {count, experts::History::width});
           })
      .def("state", &get_state)
      .def("restore", &set_state, nb::arg("state"));
}

}  // namespace odca::bind
