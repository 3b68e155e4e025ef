// Progressive validation of classes: the sums; odca.metrics says what they mean.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"
#include "odca/metrics/class_tally.hpp"

namespace odca::bind {

namespace {

using Array = nb::ndarray<nb::numpy, double>;

using Sums = std::tuple<std::int64_t, Array, Array>;

// Adds event(k) for each label; returns the number of events so far, and the weight and the loss before the first event and after each.
template <class EventAt>
Sums add_each(ClassTally& self, const Vector<std::int32_t>& label, bool fits, EventAt event) {
  const std::size_t n = label.shape(0);
  if (!fits) throw InputError("there must be as many of all as there are events");
  if (std::any_of(label.data(), label.data() + n, [](std::int32_t code) { return code < 0; }))
    throw InputError("labels must not be negative");
  const std::int64_t begin = self.events;
  std::vector<double> weights{self.weight}, losses{self.loss};
  weights.reserve(n + 1), losses.reserve(n + 1);
  for (std::size_t k = 0; k < n; ++k) {
    event(k);
    weights.push_back(self.weight), losses.push_back(self.loss);
  }
  return {begin, to_numpy(std::move(weights)), to_numpy(std::move(losses))};
}

// Whether an array has n entries, or is not there.
template <class Any>
bool has(const std::optional<Any>& array, std::size_t n) {
  return !array || array->shape(0) == n;
}

Sums add(ClassTally& self, const Vector<std::int32_t>& label, const Vector<std::int32_t>& chosen,
         const Vector<double>& loss, const Vector<double>& weight, const std::optional<Vector<double>>& margin,
         const std::optional<Matrix2>& probability, bool of_second) {
  const std::size_t n = label.shape(0);
  const bool fits = chosen.shape(0) == n && loss.shape(0) == n && weight.shape(0) == n && has(margin, n) &&
                    has(probability, n) && !(of_second && probability && probability->shape(1) != 1);
  const std::int64_t stride = probability ? probability->shape(1) : 0;
  return add_each(self, label, fits, [&](std::size_t k) {
    self.add({.label = label.data()[k],
              .chosen = chosen.data()[k],
              .loss = loss.data()[k],
              .weight = weight.data()[k],
              .margin = margin ? margin->data() + k : nullptr,
              .probability = probability ? probability->data() + k * stride : nullptr,
              .columns = of_second ? 0 : stride});
  });
}

// The same of two classes, from the margins of the second one against the first.
Sums add_margins(ClassTally& self, const Vector<std::int32_t>& label, const Vector<double>& margin, const PyLoss& loss,
                 const std::optional<Vector<double>>& probability, const std::optional<Vector<double>>& weight) {
  const std::size_t n = label.shape(0);
  const bool fits = margin.shape(0) == n && has(probability, n) && has(weight, n);
  return std::visit(
      [&](const auto& rule) {
        return add_each(self, label, fits, [&](std::size_t k) {
          self.add_margin(rule, label.data()[k], margin.data()[k], probability ? probability->data() + k : nullptr,
                          weight ? weight->data()[k] : 1.0);
        });
      },
      loss.loss);
}

// A vector of the tally's, whose length stays if it must.
template <std::vector<double> ClassTally::* member, bool fixed>
void bind_vector(nb::class_<ClassTally>& tally, const char* name) {
  tally.def_prop_rw(
      name, [](const ClassTally& self) { return to_numpy(self.*member); },
      [](ClassTally& self, const Vector<double>& values) {
        if (fixed && values.shape(0) != (self.*member).size())
          throw InputError("there must be " + std::to_string((self.*member).size()) + " of them");
        self.*member = to_vector(values);
      },
      nb::for_getter(nb::rv_policy::automatic));  // a copy, which nobody else owns
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::class_<ClassTally> tally(m, "ClassTally");
  tally.def(nb::init<>())
      .def("add", &add, nb::arg("label"), nb::arg("chosen"), nb::arg("loss"), nb::arg("weight"),
           nb::arg("margin").none(), nb::arg("probability").none(), nb::arg("of_second"))
      .def("add_margins", &add_margins, nb::arg("label"), nb::arg("margin"), nb::arg("loss"),
           nb::arg("probability").none(), nb::arg("weight").none())
      .def_rw("events", &ClassTally::events)
      .def_rw("weight", &ClassTally::weight)
      .def_rw("loss", &ClassTally::loss)
      .def_rw("hits", &ClassTally::hits)
      .def_rw("no_change", &ClassTally::no_change)
      .def_rw("majority", &ClassTally::majority)
      .def_rw("surprise", &ClassTally::surprise)
      .def_rw("informed", &ClassTally::informed)
      .def_rw("last", &ClassTally::last)
      .def_rw("leader", &ClassTally::leader);
  bind_vector<&ClassTally::class_weight, false>(tally, "class_weight");
  bind_vector<&ClassTally::rank_weight, true>(tally, "rank_weight");
  bind_vector<&ClassTally::gaps, true>(tally, "gaps");
}

}  // namespace odca::bind
