#include <nanobind/nanobind.h>

#include "bind/topics.hpp"
#include "bind/turn.hpp"

namespace odca::bind {

namespace nb = nanobind;

void bind_turns(nb::module_& m) {
  nb::class_<FairMutex>(m, "Turn",
                        "One thread at a time, in the order of arrival: `with turn: ...`.\n\n"
                        "A thread that has the turn already gets an InputError, and so does everybody in a child "
                        "process whose parent was\n"
                        "forked while another thread had it. A copy, pickled or not, is a new one.")
      .def(nb::init<>())
      .def("__enter__", &take_turn)
      .def(
          "__exit__", [](FairMutex& self, nb::args) { self.unlock(); }, nb::arg("raised"),
          nb::sig("def __exit__(self, *raised: object) -> None"))
      .def(
          "__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple()); },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

}  // namespace odca::bind
