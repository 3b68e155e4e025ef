// The automatic mode on events: names and experts change together, or not at all.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/asked.hpp"
#include "bind/event_reading.hpp"
#include "bind/signals.hpp"
#include "bind/topics.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::bind {

namespace {

// Like EventCore; but the experts say several numbers of an event.
class AutoEventCore : public EventReading {
 public:
  AutoEventCore(nb::object learner, const text::FeatureOptions& options)
      : EventReading(options, false, 0), kept_(std::move(learner)), experts_(*nb::inst_ptr<experts::Experts>(kept_)) {}

  nb::ndarray<nb::numpy, double> learn_many(const EventList& events, const Vector<double>& y,
                                            const std::optional<Vector<double>>& weight,
                                            const std::optional<Vector<double>>& time,
                                            const std::optional<KeptAnswers>& asked,
                                            const std::optional<Vector<double>>& given) {
    const std::size_t rows = y.shape(0);
    require_given(given, rows);
    const AskedParts kept = asked ? AskedParts({asked_of(*asked)}) : std::nullopt;
    const EventValues values(y, weight, time);
    std::vector<double> said;
    if (rows > 0)
      learn_events(
          {y.data(), time ? time->data() : nullptr, given ? given->data() : nullptr},
          [&](Reading& reading) { read_many(events, rows, [&](nb::handle event) { reading.learned(event); }); },
          [&](const Batch& batch) {
            const nb::gil_scoped_release free_threads;
            experts::Experts::Learned learned = experts_.learn(values.of(batch, kept), signal_arrived);
            said = std::move(learned.predictions);
            return learned.events;
          });
    return shaped(std::move(said), rows);
  }

  nb::ndarray<nb::numpy, double> predict_many(const EventList& events, bool steady,
                                              const std::optional<Vector<double>>& time) {
    const std::size_t rows = nb::len(nb::handle(events));
    return shaped(predict(events, rows, time, steady ? experts::Answer::steady : experts::Answer::live, nullptr), rows);
  }

  AskedAnswers ask(const EventList& events, const std::optional<Vector<double>>& time) {
    const std::size_t rows = nb::len(nb::handle(events));
    experts::Asked asked;
    std::vector<double> said = predict(events, rows, time, experts::Answer::live, &asked);
    return answers_of(std::move(said), std::move(asked), rows);
  }

  void predict_event(nb::handle event, FewNumbers& said) override {
    with_known(
        nullptr, [&](Reading& reading) { reading.known(event); },
        [&](const text::EventReader& reader, const SparseRows& rows) {
          const Batch one = model_.batch(reader, rows);
          const nb::gil_scoped_release free_threads;
          said = experts_.predict(one);
        });
  }
  void learn_event(nb::handle event, const FewNumbers& labels, FewNumbers& said) override {
    learn_events(
        {labels.data()}, [&](Reading& reading) { reading.learned(event); },
        [&](const Batch& batch) {
          const nb::gil_scoped_release free_threads;
          experts::Experts::Learned learned = experts_.learn({batch, labels.data()});
          said = learned.predictions;
          return learned.events;
        });
  }

  // The keys of the event's features and what each adds to the prediction, [feature][head]; what is left, whose key is empty, first. And
  // what the previous labels add; the pairs of features whose products are used, (n, 2), and what each adds.
  Explanation explain(nb::handle event, bool steady, double time) {
    experts::Explanation found;
    with_known(
        std::isnan(time) ? nullptr : &time, [&](Reading& reading) { reading.known(event); },
        [&](const text::EventReader& reader, const SparseRows& rows) {
          const Batch one = model_.batch(reader, rows);
          const nb::gil_scoped_release free_threads;
          found = experts_.explain(one, steady ? experts::Answer::steady : experts::Answer::live);
        });
    const text::EventSpace& space = model_.space();
    const text::KeyedFeatures read = keyed_features(event, time);
    const std::size_t heads = found.intercept.size();
    nb::list keys;
    keys.append(nb::bytes("", 0));
    std::vector<double> parts = found.intercept;
    for (std::int32_t k = 0; k < read.keys.size(); ++k) {
      keys.append(nb::bytes(read.keys[k].data(), read.keys[k].size()));
      const auto at = std::lower_bound(found.feature.begin(), found.feature.end(), space.index_of(read.keys[k]));
      const bool known = at != found.feature.end() && *at == space.index_of(read.keys[k]);
      const double* slope =
          known ? &found.slope[static_cast<std::size_t>(at - found.feature.begin()) * heads] : nullptr;
      for (std::size_t c = 0; c < heads; ++c)
        parts.push_back(known ? slope[c] * read.value[static_cast<std::size_t>(k)] : 0.0);
    }
    const std::size_t rows = parts.size() / heads;
    std::vector<std::int64_t> pairs;
    for (const auto& pair : found.pair) pairs.push_back(pair.first), pairs.push_back(pair.second);
    const std::size_t products = found.pair.size();
    return nb::make_tuple(keys, to_numpy(std::move(parts), {rows, heads}), to_numpy(std::move(found.labels)),
                          to_numpy(std::move(pairs), {products, 2}),
                          to_numpy(std::move(found.of_product), {products, heads}));
  }

 private:
  std::vector<double> predict(const EventList& events, std::size_t rows, const std::optional<Vector<double>>& time,
                              experts::Answer answer, experts::Asked* asked) {
    std::vector<double> said;
    predict_list(events, rows, time,
                 [&](const Batch& all) { said = experts_.predict(all, answer, signal_arrived, asked); });
    return said;
  }

  nb::ndarray<nb::numpy, double> shaped(std::vector<double> said, std::size_t rows) const {
    const std::size_t heads = heads_of(said.size(), rows, experts_);
    return to_numpy(std::move(said), {rows, heads});
  }

  nb::object kept_;
  experts::Experts& experts_;
};

std::unique_ptr<AutoEventCore> make_auto(nb::object learner, const text::FeatureOptions& features) {
  if (!nb::isinstance<experts::Experts>(learner)) throw nb::type_error("an AutoEventCore needs native Experts");
  return std::make_unique<AutoEventCore>(std::move(learner), features);
}

}  // namespace

void bind_auto_events(nb::module_& m) {
  // What is None is refused with words of our own.
  const auto event = nb::arg("event").none(), y = nb::arg("y").none();
  const auto events = nb::arg("events");
  const double none = std::nan("");
  nb::class_<AutoEventCore, EventReading> core(m, "AutoEventCore");
  core.def(nb::new_(&make_auto), nb::arg("experts"), nb::arg("features"))
      .def("learn_many", &AutoEventCore::learn_many, events, y, nb::arg("weight").none(), nb::arg("time").none(),
           nb::arg("asked").none() = nb::none(), nb::arg("given").none() = nb::none())
      .def("ask", &AutoEventCore::ask, events, nb::arg("time").none() = nb::none())
      .def("predict_many", &AutoEventCore::predict_many, events, nb::kw_only(), nb::arg("steady") = false,
           nb::arg("time").none() = nb::none())
      .def("explain", &AutoEventCore::explain, event, nb::kw_only(), nb::arg("steady"), nb::arg("time") = none);
}

}  // namespace odca::bind
