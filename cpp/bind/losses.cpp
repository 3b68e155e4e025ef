#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

template <class... Numbers>
using Callable = std::optional<nb::typed<nb::callable, double(Numbers...)>>;

// Calls a Python callable, which `keeper` keeps alive; to be copied and dropped without the GIL.
template <class... Numbers>
std::function<double(Numbers...)> from_callable(const Callable<Numbers...>& callable, PyLoss& keeper) {
  if (!callable) return nullptr;
  keeper.callables.emplace_back(*callable);
  return [borrowed = callable->ptr()](Numbers... numbers) {
    const nb::gil_scoped_acquire gil;
    const nb::object result = nb::borrow<nb::callable>(borrowed)(numbers...);
    double number = 0.0;
    if (!nb::try_cast(result, number)) throw nb::type_error("a loss's dual, gradient and value must return a number");
    return number;
  };
}

int visit_callables(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self))
    for (const nb::object& callable : nb::inst_ptr<PyLoss>(self)->callables) Py_VISIT(callable.ptr());
  return 0;
}

int clear_callables(PyObject* self) {
  nb::inst_ptr<PyLoss>(self)->callables.clear();
  return 0;
}

const PyType_Slot loss_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_callables)},
                                  {Py_tp_clear, reinterpret_cast<void*>(clear_callables)},
                                  {0, nullptr}};

template <class... Numbers>
std::function<double(Numbers...)> from_address(std::uintptr_t address) {
  if (address == 0) return nullptr;
  return reinterpret_cast<double (*)(Numbers...)>(address);
}

PyLoss compiled(std::uintptr_t dual, std::uintptr_t value) {
  return {Custom{from_address<double, double, double>(dual), nullptr, from_address<double, double>(value)}};
}

PyLoss python(const Callable<double, double, double>& dual, const Callable<double, double>& gradient,
              const Callable<double, double>& value) {
  PyLoss out;
  Custom custom{from_callable(dual, out), from_callable(gradient, out), from_callable(value, out)};
  out.loss = std::move(custom);
  return out;
}

// f(loss, i) for every element, as a new array.
template <class T, class F>
nb::ndarray<nb::numpy, T> elementwise(const PyLoss& self, std::size_t n, F f) {
  std::vector<T> out(n);
  std::visit(
      [&](const auto& loss) {
        for (std::size_t i = 0; i < n; ++i) out[i] = f(loss, i);
      },
      self.loss);
  return to_numpy(std::move(out));
}

}  // namespace

void bind_losses(nb::module_& m) {
  using V = Vector<double>;
  nb::class_<PyLoss>(m, "Loss", nb::type_slots(loss_slots))
      .def_static(
          "named", [](const std::string& name, double parameter) { return PyLoss{named_loss(name, parameter)}; },
          nb::arg("name"), nb::arg("parameter") = 0.0)
      .def_static("compiled", &compiled, nb::arg("dual"), nb::arg("value") = 0)
      .def_static("python", &python, nb::arg("dual").none() = nb::none(), nb::arg("gradient").none() = nb::none(),
                  nb::arg("value").none() = nb::none())
      .def(
          "value",
          [](const PyLoss& self, const V& z, const V& y) {
            return elementwise<double>(self, z.size(),
                                       [&](const auto& l, std::size_t i) { return l.value(z(i), y(i)); });
          },
          nb::arg("z"), nb::arg("y"))
      .def(
          "conjugate",
          [](const PyLoss& self, const V& dual, const V& y) {
            return elementwise<double>(self, dual.size(),
                                       [&](const auto& l, std::size_t i) { return l.conjugate(dual(i), y(i)); });
          },
          nb::arg("dual"), nb::arg("y"))
      .def(
          "subgradient",
          [](const PyLoss& self, const V& z, const V& y) {
            return std::pair(
                elementwise<double>(self, z.size(),
                                    [&](const auto& l, std::size_t i) { return l.subgradient(z(i), y(i)).lo; }),
                elementwise<double>(self, z.size(),
                                    [&](const auto& l, std::size_t i) { return l.subgradient(z(i), y(i)).hi; }));
          },
          nb::arg("z"), nb::arg("y"))
      .def(
          "dual",
          [](const PyLoss& self, const V& p, const V& s, const V& y) {
            std::vector<double> out(p.size());
            std::visit(
                [&](const auto& l) {
                  lambda_many(l, static_cast<int>(p.size()), p.data(), s.data(), y.data(), out.data());
                },
                self.loss);
            return to_numpy(std::move(out));
          },
          nb::arg("p"), nb::arg("s"), nb::arg("y"))
      .def(
          "valid",
          [](const PyLoss& self, const V& y) {
            std::vector<std::uint8_t> out(y.size());
            for (std::size_t i = 0; i < y.size(); ++i) out[i] = label_is_valid(labels_of(self.loss), y(i));
            return to_numpy(std::move(out));
          },
          nb::arg("y"));
}

}  // namespace odca::bind
