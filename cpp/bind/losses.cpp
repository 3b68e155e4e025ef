#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

// A Python callable that may be copied, called and dropped without holding the GIL.
template <class... Numbers>
std::function<double(Numbers...)> from_callable(const std::optional<nb::callable>& callable) {
  if (!callable) return nullptr;
  const std::shared_ptr<nb::callable> kept(new nb::callable(*callable), [](nb::callable* p) {
    const nb::gil_scoped_acquire gil;
    delete p;
  });
  return [kept](Numbers... numbers) {
    const nb::gil_scoped_acquire gil;
    return nb::cast<double>((*kept)(numbers...));
  };
}

template <class... Numbers>
std::function<double(Numbers...)> from_address(std::uintptr_t address) {
  if (address == 0) return nullptr;
  return reinterpret_cast<double (*)(Numbers...)>(address);
}

PyLoss compiled(std::uintptr_t dual, std::uintptr_t value) {
  return {Custom{from_address<double, double, double>(dual), nullptr, from_address<double, double>(value)}};
}

PyLoss python(const std::optional<nb::callable>& dual, const std::optional<nb::callable>& gradient,
              const std::optional<nb::callable>& value) {
  return {Custom{from_callable<double, double, double>(dual), from_callable<double, double>(gradient),
                 from_callable<double, double>(value)}};
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
  nb::class_<PyLoss>(m, "Loss")
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
