#include "odca/experts/mixture.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/asked.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using experts::Answer;
using experts::Expert;
using experts::Experts;
using experts::SavedState;
using experts::Task;
using State = nb::typed<nb::dict, nb::str, nb::any>;

Task task_of(const std::string& task, std::int64_t classes) {
  if (task != "classes" && task != "numbers")
    throw InputError("task must be 'classes' or 'numbers'; got '" + task + "'");
  return task == "numbers" ? Task::numbers : classes > 2 ? Task::classes : Task::two_classes;
}

experts::NumberLoss number_loss(const std::optional<PyLoss>& loss) {
  return loss ? experts::NumberLoss(loss->loss) : experts::NumberLoss();
}

std::unique_ptr<Experts> make(const std::string& task, int classes, int products, const std::optional<PyLoss>& loss) {
  return std::make_unique<Experts>(task_of(task, classes), classes, products, number_loss(loss));
}

nb::ndarray<nb::numpy, double> learn(Experts& self, const PyMatrix& x, const Vector<double>& y,
                                     const std::optional<Vector<double>>& weight,
                                     const std::optional<Vector<double>>& time, const KeptParts& asked) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  for (const auto* each : {&weight, &time})
    if (*each && (*each)->shape(0) != rows) throw InputError("sample_weight and time must be as long as X");
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  const AskedParts kept = asked_parts(asked);
  const EventValues values(y, weight, time);
  Experts::Learned learned;
  {
    const nb::gil_scoped_release free_threads;
    learned = self.learn(values.of(x.batch, kept), signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = heads_of(learned.predictions.size(), rows, self);
  return to_numpy(std::move(learned.predictions), {rows, heads});
}

// The margins of every expert from before each event, [event][head][expert].
nb::ndarray<nb::numpy, double> learn_with_margins(Experts& self, const PyMatrix& x, const Vector<double>& y) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  if (y.shape(0) != rows) throw InputError("y must be as long as X");
  const EventValues values(y, std::nullopt, std::nullopt);
  std::vector<double> margins;
  {
    const nb::gil_scoped_release free_threads;
    self.learn(values.of(x.batch, std::nullopt), signal_arrived, &margins);
  }
  raise_if_interrupted();
  const auto each = static_cast<std::size_t>(experts::expert_count);
  const std::size_t heads = heads_of(margins.size() / each, rows, self);
  return to_numpy(std::move(margins), {rows, heads, each});
}

nb::ndarray<nb::numpy, double> predict(const Experts& self, const PyMatrix& x, bool steady) {
  const auto rows = static_cast<std::size_t>(x.batch.rows);
  std::vector<double> predictions;
  {
    const nb::gil_scoped_release free_threads;
    predictions = self.predict(x.batch, steady ? Answer::steady : Answer::live, signal_arrived);
  }
  raise_if_interrupted();
  const std::size_t heads = heads_of(predictions.size(), rows, self);
  return to_numpy(std::move(predictions), {rows, heads});
}

// The live answer; and the experts' margins with the number of events that they had learned, to be kept until the labels come.
AskedAnswers ask(const Experts& self, const PyMatrix& x) {
  experts::Asked asked;
  std::vector<double> predictions;
  {
    const nb::gil_scoped_release free_threads;
    predictions = self.predict(x.batch, Answer::live, signal_arrived, &asked);
  }
  raise_if_interrupted();
  return answers_of(std::move(predictions), std::move(asked), static_cast<std::size_t>(x.batch.rows));
}

// Weights, (heads, features), and intercepts of the steady answer, and the mean curvature along the weights. And the pairs of features
// whose products it uses, (n, 2), centre and scale of the first and of the second, (n, 4), and the weights of the products, (n, heads).
nb::typed<nb::tuple, nb::any, nb::ellipsis> linear(const Experts& self) {
  experts::LinearModel model;
  {
    const nb::gil_scoped_release free_threads;
    model = self.linear();
  }
  const std::size_t heads = model.intercept.size(), features = model.weight.size() / heads;
  const std::size_t products = model.products.size();
  std::vector<std::int64_t> pairs;
  std::vector<double> forms;
  for (const auto& [first, second] : model.products)
    for (const ProductFactor& each : {first, second})
      pairs.push_back(each.feature), forms.push_back(each.centre), forms.push_back(each.scale);
  return nb::make_tuple(to_numpy(std::move(model.weight), {heads, features}), to_numpy(std::move(model.intercept)),
                        model.curvature, to_numpy(std::move(pairs), {products, 2}),
                        to_numpy(std::move(forms), {products, 4}),
                        to_numpy(std::move(model.product_weight), {products, heads}));
}

// Of one row: its features, the slope of the prediction along each, (features, heads), and what the previous labels, the rest
// and each product of two features add; the pairs of features whose products these are, (products, 2).
nb::typed<nb::tuple, nb::any, nb::ellipsis> explain(const Experts& self, const PyMatrix& x, bool steady) {
  if (x.batch.rows != 1) throw InputError("explain needs one row");
  experts::Explanation found;
  {
    const nb::gil_scoped_release free_threads;
    found = self.explain(x.batch, steady ? Answer::steady : Answer::live);
  }
  const std::size_t features = found.feature.size(), heads = found.intercept.size();
  const std::size_t products = found.pair.size();
  std::vector<std::int64_t> pairs;
  for (const auto& pair : found.pair) pairs.push_back(pair.first), pairs.push_back(pair.second);
  return nb::make_tuple(to_numpy(std::move(found.feature)), to_numpy(std::move(found.slope), {features, heads}),
                        to_numpy(std::move(found.labels)), to_numpy(std::move(found.intercept)),
                        to_numpy(std::move(found.of_product), {products, heads}),
                        to_numpy(std::move(pairs), {products, 2}));
}

// The pairs of features whose products are used, (n, 2), and how much each matters; the largest come first.
nb::typed<nb::tuple, nb::any, Numbers> products_of(const Experts& self) {
  std::vector<Experts::Product> found;
  {
    const nb::gil_scoped_release free_threads;
    found = self.products();
  }
  std::vector<std::int64_t> pairs;
  std::vector<double> sizes;
  for (const auto& [pair, size] : found)
    pairs.push_back(pair.first), pairs.push_back(pair.second), sizes.push_back(size);
  return nb::typed<nb::tuple, nb::any, Numbers>(
      nb::make_tuple(to_numpy(std::move(pairs), {found.size(), 2}), to_numpy(std::move(sizes))));
}

// Without the GIL, because whoever waits for the model must not hold it.
std::vector<double> read(const Experts& self, std::vector<double> (Experts::*what)() const) {
  const nb::gil_scoped_release free_threads;
  return (self.*what)();
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

SavedState saved_state(const State& state) {
  SavedState saved;
  saved.version = 0.0;
  for (const auto& [key, values] : nb::dict(state)) {
    const auto name = nb::cast<std::string>(key);
    if (name == "experts") {
      const auto text = named_array<std::uint8_t>(values, name);
      saved.experts.assign(text.data(), text.data() + text.shape(0));
    } else if (const auto numbers = named_array<double>(values, name); name == "version" && numbers.shape(0) == 1)
      saved.version = numbers.data()[0];
    else
      saved.parts.emplace_back(name, to_vector(numbers));
  }
  return saved;
}

void set_state(Experts& self, const State& state) {
  const SavedState saved = saved_state(state);
  const nb::gil_scoped_release free_threads;
  self.restore(saved);
}

std::unique_ptr<Experts> restored(const std::string& task, std::int64_t classes, const State& state,
                                  const std::optional<PyLoss>& loss) {
  const SavedState saved = saved_state(state);
  const experts::NumberLoss of_numbers = number_loss(loss);
  const nb::gil_scoped_release free_threads;
  return Experts::restored(task_of(task, classes), classes, saved, of_numbers);
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
      .def_prop_ro("steady", [](const Expert& self) { return experts::name_of(self.steady); })
      .def_prop_ro("group", &Expert::group)
      .def_prop_ro("events", [](const Expert& self) { return unless_zero(self.events()); })
      .def_prop_ro("per_feature", [](const Expert& self) { return unless_zero(self.per_feature()); });
  // The members of the steady answer but for the last, which is the base rate: the place of an expert, and whether its weights are averaged.
  m.def("steady_members", [] {
    std::vector<std::pair<int, bool>> out;
    for (const int first : {0, experts::first_product_expert})
      for (const experts::Member& each : experts::members) out.emplace_back(first + each.expert, each.averaged);
    return out;
  });
  m.def("experts", [] { return std::vector<Expert>(experts::table.begin(), experts::table.end()); });
}

}  // namespace

void bind_experts(nb::module_& m) {
  bind_table(m);
  nb::class_<Experts>(m, "Experts")
      .def(nb::new_(&make), nb::kw_only(), nb::arg("task"), nb::arg("classes"),
           nb::arg("products") = experts::Pairs::automatic, nb::arg("loss").none() = nb::none())
      .def("learn", &learn, nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("time").none(),
           nb::arg("asked").none() = nb::none())
      .def("ask", &ask, nb::arg("x"))
      .def(
          "require_fitting",
          [](const Experts& self, const KeptAnswers& kept) {
            const experts::Asked asked = asked_of(kept);
            const auto rows = static_cast<std::int64_t>(kept.first.shape(0));
            const nb::gil_scoped_release free_threads;
            self.require_fitting(asked, rows);
          },
          nb::arg("asked"))
      .def("learn_with_margins", &learn_with_margins, nb::arg("x"), nb::arg("y"))
      .def("predict", &predict, nb::arg("x"), nb::kw_only(), nb::arg("steady") = false)
      .def("linear", &linear)
      .def("explain", &explain, nb::arg("x"), nb::kw_only(), nb::arg("steady"))
      .def("declare", &Experts::declare, nb::arg("classes"), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("count", &Experts::count, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("features", &Experts::features, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("classes", &Experts::classes, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("most_products", &Experts::most_products, nb::call_guard<nb::gil_scoped_release>())
      .def("products", &products_of)
      .def_prop_ro("mean_norm", &Experts::mean_norm, nb::call_guard<nb::gil_scoped_release>())
      .def("weights", [](const Experts& self) { return to_numpy(read(self, &Experts::weights)); })
      .def("uncertainty", &Experts::uncertainty, nb::call_guard<nb::gil_scoped_release>())
      .def("steady_weights", [](const Experts& self) { return to_numpy(read(self, &Experts::steady_weights)); })
      .def("history",
           [](const Experts& self) {
             std::vector<double> rows = read(self, &Experts::history);
             const std::size_t count = rows.size() / experts::History::width;
             return to_numpy(std::move(rows), {count, experts::History::width});
           })
      .def("merge", &Experts::merge, nb::arg("other"), nb::arg("places"), nb::arg("classes"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("become_part", &Experts::become_part, nb::arg("part"), nb::arg("parts"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("state", &get_state)
      .def("restore", &set_state, nb::arg("state"))
      .def_static("restored", &restored, nb::kw_only(), nb::arg("task"), nb::arg("classes"), nb::arg("state"),
                  nb::arg("loss").none() = nb::none());
}

}  // namespace odca::bind
