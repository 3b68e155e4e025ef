// Progressive validation: the sums of classes, rises of the loss, the curve of a stream; odca.metrics says what they mean.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"
#include "odca/features/vocabulary.hpp"
#include "odca/metrics/class_tally.hpp"
#include "odca/metrics/column_watch.hpp"
#include "odca/metrics/running_quantile.hpp"

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

// A detector that has seen these losses too.
RiseDetector after(const RiseDetector& self, const Vector<double>& loss, const Vector<double>& weight) {
  if (loss.shape(0) != weight.shape(0)) throw InputError("there must be as many losses as weights");
  RiseDetector later = self;
  for (std::size_t k = 0; k < loss.shape(0); ++k) later.add(loss.data()[k], weight.data()[k]);
  return later;
}

RiseDetector joined(const RiseDetector& self, const RiseDetector& other) {
  RiseDetector both = self;
  both.append(other);
  return both;
}

// (event, since, before, after) of each alarm.
std::vector<std::tuple<std::int64_t, std::int64_t, double, double>> alarms(const RiseDetector& self) {
  std::vector<std::tuple<std::int64_t, std::int64_t, double, double>> found;
  for (const auto& each : self.alarms()) found.emplace_back(each.event, each.since, each.before, each.after);
  return found;
}

// The events of a block, whose features have names.
void watch(ColumnWatch& self, const text::Block& block, const text::Vocabulary& vocabulary) {
  const SparseRows& rows = block.rows;
  const std::int32_t last = rows.index.empty() ? -1 : *std::max_element(rows.index.begin(), rows.index.end());
  const std::size_t wanted = std::min(static_cast<std::size_t>(last + 1), ColumnWatch::most_names);
  if (wanted > self.named()) {
    std::size_t number = 0;
    vocabulary.each([&](std::string_view key) {
      if (number >= self.named() && number < wanted) self.name(key);
      ++number;
    });
  }
  for (std::size_t k = 0; k + 1 < rows.start.size(); ++k) {
    const auto first = static_cast<std::size_t>(rows.start[k]), end = static_cast<std::size_t>(rows.start[k + 1]);
    self.add(rows.index.data() + first, rows.value.data() + first, end - first);
  }
}

using ChangeOfColumn = std::tuple<std::string, std::string, std::int64_t, std::int64_t, double, double>;

// (column, what, event, since, before, after) of each change.
std::vector<ChangeOfColumn> changes(const ColumnWatch& self) {
  static constexpr const char* what[] = {"larger", "smaller", "missing", "common", "uncommon", "new"};
  std::vector<ChangeOfColumn> found;
  for (const ColumnWatch::Change& each : self.changes())
    found.emplace_back(self.column_name(each.column), what[static_cast<std::size_t>(each.what)], each.event, each.since,
                       each.before, each.after);
  return found;
}

void bind_columns(nb::module_& m) {
  nb::class_<ColumnWatch>(m, "ColumnWatch")
      .def(nb::init<>())
      .def_static(
          "restored",
          [](const std::vector<std::string>& names, const Vector<double>& state) {
            return ColumnWatch::restored(names, to_vector(state));
          },
          nb::arg("names"), nb::arg("state"))
      .def("add", &watch, nb::arg("rows"), nb::arg("vocabulary"))
      .def("joined", &ColumnWatch::joined, nb::arg("other"))
      .def("state", [](const ColumnWatch& self) { return to_numpy(self.state()); })
      .def_prop_ro("names", &ColumnWatch::names)
      .def_prop_ro("events", &ColumnWatch::events)
      .def_prop_ro("count", &ColumnWatch::count)
      .def_prop_ro("changes", &changes);
}

void bind_drift(nb::module_& m) {
  nb::class_<RiseDetector>(m, "RiseDetector")
      .def(nb::init<double, double>(), nb::arg("alpha") = RiseDetector::usual_alpha,
           nb::arg("cap_in_means") = RiseDetector::usual_cap)
      .def_static(
          "restored",
          [](const Vector<double>& state, double alpha, double cap_in_means) {
            return RiseDetector::restored(to_vector(state), alpha, cap_in_means);
          },
          nb::arg("state"), nb::arg("alpha") = RiseDetector::usual_alpha,
          nb::arg("cap_in_means") = RiseDetector::usual_cap)
      .def_static(
          "beginning_at",
          [](std::int64_t events) {
            RiseDetector self;
            self.skip(events);
            return self;
          },
          nb::arg("events"))
      .def("after", &after, nb::arg("loss"), nb::arg("weight"))
      .def("joined", &joined, nb::arg("other"))
      .def("state", [](const RiseDetector& self) { return to_numpy(self.state()); })
      .def_prop_ro("events", &RiseDetector::events)
      .def_prop_ro("count", &RiseDetector::count)
      .def_prop_ro("alarms", &alarms);
  nb::class_<Curve>(m, "Curve")
      .def(nb::init<std::size_t>(), nb::arg("width"))
      .def_static(
          "restored",
          [](std::size_t width, const Vector<double>& points, std::int64_t every) {
            Curve curve(width);
            curve.restore({points.data(), points.shape(0)}, every);
            return curve;
          },
          nb::arg("width"), nb::arg("points"), nb::arg("every"))
      .def(
          "after",
          [](const Curve& self, const Matrix2& sums) {
            if (sums.shape(1) != self.width()) throw InputError("these are not the sums of the curve");
            Curve later = self;
            for (std::size_t k = 0; k < sums.shape(0); ++k) {
              const std::span row(sums.data() + k * self.width(), self.width());
              if (later.is_due(static_cast<std::int64_t>(row[0]))) later.push(row);
            }
            return later;
          },
          nb::arg("sums"))
      .def_prop_ro("every", &Curve::every)
      .def_prop_ro(
          "points", [](const Curve& self) { return to_numpy(self.points()); },
          nb::for_getter(nb::rv_policy::automatic));
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::class_<RunningQuantile>(m, "RunningQuantile")
      .def(nb::init<double>(), nb::arg("q"))
      .def(
          "before",
          [](RunningQuantile& self, const Vector<double>& label, const Vector<double>& weight) {
            if (weight.shape(0) != label.shape(0)) throw InputError("there must be as many of all as there are events");
            std::vector<double> out;
            out.reserve(label.shape(0));
            for (std::size_t k = 0; k < label.shape(0); ++k)
              out.push_back(self.value()), self.learn(label.data()[k], weight.data()[k]);
            return to_numpy(std::move(out));
          },
          nb::arg("label"), nb::arg("weight"))
      .def("copy", [](const RunningQuantile& self) { return RunningQuantile(self); })
      .def("state",
           [](const RunningQuantile& self) {
             const RunningQuantile::State state = self.state();
             return to_numpy(std::vector<double>(state.begin(), state.end()));
           })
      .def(
          "restore",
          [](RunningQuantile& self, const Vector<double>& state) {
            RunningQuantile::State read{};
            if (state.shape(0) != read.size()) throw InputError("its running quantile has the wrong length");
            std::copy_n(state.data(), read.size(), read.begin());
            RunningQuantile made = self;
            if (!made.restore(read)) throw InputError("its running quantile has numbers that cannot be");
            self = made;
          },
          nb::arg("state"));
  bind_drift(m);
  bind_columns(m);
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
      .def_prop_rw(
          "rises", [](const ClassTally& self) { return self.rises; },
          [](ClassTally& self, const RiseDetector& rises) { self.rises = rises; })
      .def_prop_rw(
          "curve", [](const ClassTally& self) { return self.curve; },
          [](ClassTally& self, const Curve& curve) { self.curve = curve; })
      .def_rw("last", &ClassTally::last)
      .def_rw("leader", &ClassTally::leader);
  bind_vector<&ClassTally::class_weight, false>(tally, "class_weight");
  bind_vector<&ClassTally::rank_weight, true>(tally, "rank_weight");
  bind_vector<&ClassTally::gaps, true>(tally, "gaps");
}

}  // namespace odca::bind
