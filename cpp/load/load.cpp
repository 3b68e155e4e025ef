// `import odca._core`: loads the build of the core for the widest registers that this machine has, _core.LEVEL.so beside this file.
// odca/level/level.hpp says what a level is. The environment variable ODCA_LEVEL picks another one, to compare them.
#include <Python.h>
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include <unistd.h>

namespace {

struct Level {
  const char* name;
  bool (*runs_here)();
};

// The widest first.
const Level levels[] = {
#ifdef __x86_64__
    {"avx2", [] { return __builtin_cpu_supports("avx2") != 0; }},
#endif
    {"baseline", [] { return true; }},
};

// The folder of this library.
std::string folder() {
  Dl_info self;
  if (!dladdr(reinterpret_cast<const void*>(&folder), &self) || !self.dli_fname) return "";
  const std::string path = self.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// "" if it cannot be used.
std::string path_of(const Level& level, const std::string& in) {
  const std::string path = in + "_core." + level.name + ".so";
  return level.runs_here() && access(path.c_str(), R_OK) == 0 ? path : "";
}

// The path of the level to use, or "" with a Python error.
std::string chosen() {
  const char* const wanted = std::getenv("ODCA_LEVEL");
  const std::string in = folder();
  std::string usable;
  for (const Level& level : levels) {
    const std::string path = path_of(level, in);
    if (path.empty()) continue;
    if (!wanted || !*wanted || std::string(wanted) == level.name) return path;
    usable += (usable.empty() ? "" : ", ") + std::string(level.name);
  }
  if (usable.empty())
    PyErr_Format(PyExc_ImportError, "there is no _core.LEVEL.so in '%s'. Install odca again", in.c_str());
  else
    PyErr_Format(PyExc_ImportError,
                 "ODCA_LEVEL is '%s'; on this machine it can be one of: %s. Unset it to use the first", wanted,
                 usable.c_str());
  return "";
}

}  // namespace

PyMODINIT_FUNC PyInit__core() {
  const std::string path = chosen();
  if (path.empty()) return nullptr;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const begin = library ? dlsym(library, "PyInit__core") : nullptr;
  if (begin) return reinterpret_cast<PyObject* (*)()>(begin)();
  PyErr_Format(PyExc_ImportError, "cannot load '%s': %s", path.c_str(), dlerror());
  return nullptr;
}
