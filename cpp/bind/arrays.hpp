// NumPy arrays to C++ and back.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <type_traits>
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

template <class T>
constexpr const char* type_name() {
  if (std::is_same_v<T, double>) return "float64";
  return sizeof(T) == 1        ? "uint8"
         : sizeof(T) == 4      ? (std::is_signed_v<T> ? "int32" : "uint32")
         : std::is_signed_v<T> ? "int64"
                               : "uint64";
}

inline std::string array_in_words(nb::handle values) {
  if (!nb::hasattr(values, "dtype") || !nb::hasattr(values, "shape"))
    return std::string("an object of type ") + nb::type_name(values.type()).c_str();
  const nb::object dtype = values.attr("dtype"), shape = values.attr("shape");
  return std::string("an array of ") + nb::str(dtype).c_str() + " and shape " + nb::str(shape).c_str();
}

// Asked before nanobind looks at an object's memory, whose format it takes for granted: a datetime64 scalar has none.
inline bool has_one_dimension(nb::handle values) {
  int dimensions = 0;
  return nb::hasattr(values, "ndim") && nb::try_cast(values.attr("ndim"), dimensions) && dimensions == 1;
}

// A saved state's array, which must have one dimension and be of this type: nothing is converted.
template <class T>
Vector<T> named_array(nb::handle values, const std::string& name) {
  Vector<T> array;
  if (has_one_dimension(values) && nb::try_cast(values, array, false)) return array;
  throw InputError("the state's array '" + name + "' must be of " + type_name<T>() + " and have one dimension; got " +
                   array_in_words(values));
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
