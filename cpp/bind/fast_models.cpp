// What the estimators of river do for every event, past Python: an event is predicted, or learned with weight 1, by whatever model of
// events there is, plain or automatic, with one lane, several classes or numbers.
//
// A method of an estimator declines here what it is not made for, and its Python body does it: keywords, labels that are new, labels that are
// no numbers, calibrated probabilities. What is done here has the same bits.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "bind/event_reading.hpp"
#include "bind/native_fast_path.hpp"
#include "bind/topics.hpp"
#include "odca/math/probabilities.hpp"

namespace odca::bind {

namespace {

// A classifier: `model` has the classes in the order of their codes, `core` learns and predicts.
//
// With lanes there is one for each class, but one for two classes, that of the second; and perhaps a spare one, whose labels are all -1
// (OneAgainstRest in Python). The experts take the code itself. They meet new classes as they go: the classes of their model are read anew each time.
class FastClassifier {
 public:
  enum class Kind { lanes, spare_lanes, experts };

  FastClassifier(nb::object core, nb::object model, std::string_view kind, nb::object note, bool calibrated)
      : kept_(std::move(core)),
        core_(nb::cast<EventReading&>(kept_)),
        model_(std::move(model)),
        kind_(kind == "lanes"         ? Kind::lanes
              : kind == "spare lanes" ? Kind::spare_lanes
                                      : Kind::experts),
        note_(std::move(note)),
        calibrated_(calibrated) {
    refresh();
  }

  // Several lanes are replaced when a class appears: whoever learns has the turn of the estimator.
  bool takes_turns() const { return kind_ == Kind::spare_lanes; }

  // False if the label is unknown.
  bool learn(nb::handle event, PyObject* label) {
    if (kind_ == Kind::experts) refresh();
    PyObject* const found = PyDict_GetItemWithError(codes_.ptr(), label);
    if (!found) {
      PyErr_Clear();  // a label that cannot be hashed is refused in Python
      return false;
    }
    const auto code = PyLong_AsSsize_t(found);
    FewNumbers labels, said;
    if (kind_ == Kind::experts)
      labels.resize(1)[0] = static_cast<double>(code);
    else
      label_lanes(code, labels);
    core_.learn_event(event, labels, said);
    if (!note_.is_none())
      note_(nb::bytes(said.data(), said.size() * sizeof(double)), nb::borrow(found), 1.0, nb::none());
    return true;
  }

  // Invalid if no class is known.
  nb::object predict(nb::handle event) {
    const nb::tuple classes = classes_now();
    if (classes.size() == 0) return {};
    FewNumbers said;
    core_.predict_event(event, said);
    return classes[chosen(classes.size(), said)];
  }

  nb::object predict_proba(nb::handle event) {
    const nb::tuple classes = classes_now();
    if (classes.size() == 0 || calibrated_) return {};
    FewNumbers said;
    core_.predict_event(event, said);
    probabilities_of(classes.size(), said);
    nb::dict out;
    for (std::size_t c = 0; c < classes.size(); ++c) out[classes[c]] = said.data()[c];
    return out;
  }

 private:
  void refresh() {
    nb::object now = model_.attr("classes");
    if (now.is(classes_)) return;
    classes_ = nb::cast<nb::tuple>(now);
    nb::dict codes;
    for (std::size_t c = 0; c < classes_.size(); ++c) codes[classes_[c]] = c;
    codes_ = std::move(codes);
  }

  nb::tuple classes_now() {
    if (kind_ == Kind::experts) refresh();
    return classes_;
  }

  void label_lanes(Py_ssize_t code, FewNumbers& labels) const {
    const auto classes = static_cast<Py_ssize_t>(classes_.size()), owned = classes > 2 ? classes : 1;
    double* const label = labels.resize(static_cast<std::size_t>(owned + (kind_ == Kind::spare_lanes ? 1 : 0)));
    std::fill_n(label, labels.size(), -1.0);
    if (classes > 2)
      label[code] = 1.0;
    else if (code == classes - 1)
      label[0] = 1.0;
  }

  // The log odds of the second of two classes, the log probabilities of more: the experts may have met others in another thread since.
  double log_odds(const FewNumbers& said) const {
    return kind_ == Kind::experts && said.size() > 1 ? said.data()[1] - said.data()[0] : said.data()[0];
  }

  std::size_t chosen(std::size_t classes, FewNumbers& said) const {
    if (kind_ == Kind::experts)
      probabilities_of(classes, said);
    else if (classes == 2)
      return said.data()[0] > 0.0 ? 1 : 0;
    return static_cast<std::size_t>(std::max_element(said.data(), said.data() + classes) - said.data());
  }

  // In place, of the classes.
  void probabilities_of(std::size_t classes, FewNumbers& said) const {
    if (classes == 1) {
      said.resize(1)[0] = 1.0;
    } else if (classes == 2) {
      const double p = probabilities::sigmoid(log_odds(said));
      double* const both = said.resize(2);
      both[0] = 1.0 - p, both[1] = p;
    } else if (kind_ == Kind::experts) {
      probabilities::softmax(classes, said.data());
    } else {
      FewNumbers p;
      std::transform(said.data(), said.data() + classes, p.resize(classes), probabilities::sigmoid);
      probabilities::one_against_rest(classes, said.data(), p.data());
      std::copy_n(p.data(), classes, said.data());
    }
  }

  nb::object kept_;
  EventReading& core_;
  nb::object model_;
  Kind kind_;
  nb::object note_;
  bool calibrated_;
  nb::tuple classes_;
  nb::dict codes_;
};

class FastRegressor {
 public:
  explicit FastRegressor(nb::object core) : kept_(std::move(core)), core_(nb::cast<EventReading&>(kept_)) {}

  void learn(nb::handle event, double y) {
    FewNumbers labels, said;
    labels.resize(1)[0] = y;
    core_.learn_event(event, labels, said);
  }
  double predict(nb::handle event) {
    FewNumbers said;
    core_.predict_event(event, said);
    return said.data()[0];
  }

 private:
  nb::object kept_;
  EventReading& core_;
};

nb::object learn_class(nb::handle self, nb::handle fast, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) return {};
  FastClassifier& classifier = *nb::inst_ptr<FastClassifier>(fast);
  std::optional<nb::object> turn;
  std::unique_lock<FairMutex> held;
  if (classifier.takes_turns()) {
    turn = self.attr("_turn");
    held = std::unique_lock(nb::cast<FairMutex&>(*turn), std::try_to_lock);
    if (!held) return {};  // Python waits for it
  }
  return classifier.learn(arguments[0], arguments[1]) ? nb::none() : nb::object();
}

nb::object predict_class(nb::handle, nb::handle fast, PyObject* const* arguments, Py_ssize_t count) {
  return count == 1 ? nb::inst_ptr<FastClassifier>(fast)->predict(arguments[0]) : nb::object();
}

nb::object predict_probabilities(nb::handle, nb::handle fast, PyObject* const* arguments, Py_ssize_t count) {
  return count == 1 ? nb::inst_ptr<FastClassifier>(fast)->predict_proba(arguments[0]) : nb::object();
}

nb::object learn_number(nb::handle, nb::handle fast, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyFloat_CheckExact(arguments[1])) return {};
  nb::inst_ptr<FastRegressor>(fast)->learn(arguments[0], PyFloat_AS_DOUBLE(arguments[1]));
  return nb::none();
}

nb::object predict_number(nb::handle, nb::handle fast, PyObject* const* arguments, Py_ssize_t count) {
  return count == 1 ? nb::float_(nb::inst_ptr<FastRegressor>(fast)->predict(arguments[0])) : nb::object();
}

struct Named {
  std::string_view name;
  FastPath path;
  bool of_classes;
};
constexpr Named paths[] = {{"learn_class", learn_class, true},
                           {"predict_class", predict_class, true},
                           {"predict_probabilities", predict_probabilities, true},
                           {"learn_number", learn_number, false},
                           {"predict_number", predict_number, false}};

}  // namespace

void bind_fast_models(nb::module_& m) {
  nb::class_<FastClassifier>(m, "FastClassifier",
                             "Learns and predicts single events of a classifier past Python: see fast_models.cpp.")
      .def(nb::init<nb::object, nb::object, std::string_view, nb::object, bool>(), nb::arg("core"), nb::arg("model"),
           nb::arg("kind"), nb::arg("note").none() = nb::none(), nb::arg("calibrated") = false);
  nb::class_<FastRegressor>(m, "FastRegressor", "The same of a regressor.")
      .def(nb::init<nb::object>(), nb::arg("core"));
  m.def(
      "with_fast_path",
      [type = method_with_fast_path_type()](std::string_view name, nb::callable method) -> nb::object {
        for (const Named& each : paths)
          if (each.name == name) {
            nb::object of = nb::borrow(each.of_classes ? nb::type<FastClassifier>() : nb::type<FastRegressor>());
            return with_fast_path(type, std::move(of), each.path, std::move(method));
          }
        throw nb::value_error("there is no fast path of that name");
      },
      nb::arg("name"), nb::arg("method"),
      nb::sig("def with_fast_path(name: str, method: collections.abc.Callable[..., typing.Any]) -> typing.Any"),
      "The method, with a native fast path in front of it for objects whose `_fast` is a FastClassifier or "
      "FastRegressor.");
}

}  // namespace odca::bind
