// NumPy arrays to C++ and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "odca/errors.hpp"
#include "odca/math/batch.hpp"

namespace odca::bind {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> to_vector(const Vector<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

// A saved state's array, which must have one dimension and be of this type: nothing is converted.
template <class T>
Vector<T> named_array(nb::handle values, const std::string& name) {
  Vector<T> array;
  if (!nb::try_cast(values, array, false))
    throw InputError("its array '" + name + "' has the wrong type, or not one dimension");
  return array;
}

// Labels, weights or offsets; `otherwise` where there is no array.
inline LaneValues lane_values(const std::optional<Matrix2>& array, double otherwise) {
  if (!array) return {nullptr, 0, 0, otherwise};
  return {array->data(), array->stride(0), array->shape(1) == 1 ? 0 : array->stride(1), otherwise};
}

// Hands a vector's memory over to NumPy.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T>(kept->data(), shape, owner);
}
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T> values) {
  const std::size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

}  // namespace odca::bind
