#include "bind/arrays.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

template <class T>
PyMatrix dense(const nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>& x) {
  PyMatrix out;
  const auto item = static_cast<std::int64_t>(sizeof(T));
  out.batch.matrix = DenseMatrix<T>{reinterpret_cast<const char*>(x.data()), x.stride(0) * item, x.stride(1) * item};
  out.batch.rows = static_cast<std::int64_t>(x.shape(0));
  out.batch.width = static_cast<std::int64_t>(x.shape(1));
  out.owner = nb::cast(x);
  return out;
}

template <class I, class T>
PyMatrix csr(const Vector<I>& start, const Vector<I>& index, const Vector<T>& value, std::int64_t width) {
  if (start.shape(0) < 1 || index.shape(0) != value.shape(0))
    throw nb::value_error("X is not a valid CSR matrix: indptr is empty, or indices and data differ in length");
  PyMatrix out;
  out.batch.matrix =
      SparseMatrix<I, T>{start.data(), index.data(), value.data(), static_cast<std::int64_t>(index.shape(0))};
  out.batch.rows = static_cast<std::int64_t>(start.shape(0)) - 1;
  out.batch.width = width;
  out.owner = nb::make_tuple(nb::cast(start), nb::cast(index), nb::cast(value));
  return out;
}

}  // namespace

void bind_matrices(nb::module_& m) {
  const auto d = nb::arg("x").noconvert();
  const auto start = nb::arg("indptr").noconvert(), index = nb::arg("indices").noconvert(),
             value = nb::arg("data").noconvert();
  const auto width = nb::arg("width");
  nb::class_<PyMatrix>(m, "Matrix")
      .def_static("dense", &dense<double>, d)
      .def_static("dense", &dense<float>, d)
      .def_static("csr", &csr<std::int32_t, double>, start, index, value, width)
      .def_static("csr", &csr<std::int32_t, float>, start, index, value, width)
      .def_static("csr", &csr<std::int64_t, double>, start, index, value, width)
      .def_static("csr", &csr<std::int64_t, float>, start, index, value, width);
}

}  // namespace odca::bind
