#include "bind/native_fast_path.hpp"

#include <structmember.h>

#include <cstddef>
#include <utility>

namespace odca::bind {

namespace {

struct FastMethod {
  PyObject head;
  vectorcallfunc call;
  PyObject *method, *core_name, *core_type, *translate, *dict;
  FastPath fast_path;
};

FastMethod& at(PyObject* self) { return *reinterpret_cast<FastMethod*>(self); }

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t flagged, PyObject* keywords) {
  const FastMethod& mine = at(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flagged);
  if (!keywords && count > 0) try {
      const nb::object core = nb::steal(PyObject_GetAttr(arguments[0], mine.core_name));
      if (!core.is_valid()) return nullptr;
      if (reinterpret_cast<PyObject*>(Py_TYPE(core.ptr())) == mine.core_type)
        if (nb::object result = mine.fast_path(arguments[0], core, arguments + 1, count - 1); result.is_valid())
          return result.release().ptr();
    } catch (...) {
      return PyObject_CallNoArgs(mine.translate);
    }
  return PyObject_Vectorcall(mine.method, arguments, flagged, keywords);
}

PyObject* bind_to(PyObject* self, PyObject* object, PyObject*) {
  return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  for (PyObject* each : {at(self).method, at(self).core_type, at(self).translate, at(self).dict}) Py_VISIT(each);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(at(self).method);
  Py_CLEAR(at(self).core_name);
  Py_CLEAR(at(self).core_type);
  Py_CLEAR(at(self).translate);
  Py_CLEAR(at(self).dict);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

}  // namespace

nb::object method_with_fast_path_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(FastMethod, call), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(FastMethod, dict), READONLY, nullptr},
      {},
  };
  static PyGetSetDef properties[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {},
  };
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
      {Py_tp_members, members},
      {Py_tp_getset, properties},
      {},
  };
  // METHOD_DESCRIPTOR: object.method(...) is called without a bound method in between.
  static PyType_Spec spec{"odca._core.MethodWithFastPath", sizeof(FastMethod), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                              Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          slots};
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  return type;
}

nb::object with_fast_path(nb::handle type, nb::object core_type, FastPath fast_path, nb::object method) {
  // Called while an exception is handled: throws it again, for nanobind to translate.
  nb::object translate = nb::cpp_function([] { throw; });
  nb::object core_name = nb::steal(PyUnicode_InternFromString("_fast"));
  auto* const made = PyObject_GC_New(FastMethod, reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (!made || !core_name.is_valid()) throw nb::python_error();
  made->call = call;
  made->method = method.release().ptr();
  made->core_name = core_name.release().ptr();
  made->core_type = core_type.release().ptr();
  made->translate = translate.release().ptr();
  made->dict = nullptr;
  made->fast_path = fast_path;
  PyObject_GC_Track(made);
  return nb::steal(reinterpret_cast<PyObject*>(made));
}

}  // namespace odca::bind
