# The sources of the core, and the levels of instruction sets that some of them are compiled for: odca/level/level.hpp says more.

# A source file that appears later is picked up on its own.
file(GLOB_RECURSE ODCA_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/odca/*.cpp)

# Compiled once for each level. To build one level alone: pip install . -C cmake.define.ODCA_LEVELS=avx2
set(ODCA_LEVEL_FOLDERS experts learner level)
set(ODCA_LEVEL_FLAGS_baseline "")
set(ODCA_LEVEL_FLAGS_avx2 -mavx2)
set(ODCA_KNOWN_LEVELS baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND ODCA_KNOWN_LEVELS avx2)
endif()
set(ODCA_LEVELS ${ODCA_KNOWN_LEVELS} CACHE STRING "The levels that the module is built for")

list(JOIN ODCA_LEVEL_FOLDERS "|" ODCA_LEVEL_PATTERN)
set(ODCA_LEVEL_SOURCES ${ODCA_SOURCES})
set(ODCA_PLAIN_SOURCES ${ODCA_SOURCES})
list(FILTER ODCA_LEVEL_SOURCES INCLUDE REGEX "/cpp/odca/(${ODCA_LEVEL_PATTERN})/")
list(FILTER ODCA_PLAIN_SOURCES EXCLUDE REGEX "/cpp/odca/(${ODCA_LEVEL_PATTERN})/")
