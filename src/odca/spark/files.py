"""Files wherever Spark has files: on the local disk, on HDFS, in an object store."""

from typing import Any

from pyspark.sql import SparkSession

TEMPORARY = "."
"""Files whose names begin like this are not complete."""


class Folder:
    """A folder of model files, in any file system that Spark can reach."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark._jvm  # noqa: SLF001 - the only way to Hadoop's file systems
        self._new_path = jvm.org.apache.hadoop.fs.Path
        self._path = self._new_path(path)
        self._system = self._path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())  # noqa: SLF001 - the same
        self._copy = jvm.org.apache.hadoop.io.IOUtils
        self._buffer = jvm.java.io.ByteArrayOutputStream

    def names(self) -> list[str]:
        """The names of the complete files, in order; none if there is no folder."""
        if not self._system.exists(self._path):
            return []
        found = (status.getPath().getName() for status in self._system.listStatus(self._path))
        return sorted(name for name in found if not name.startswith(TEMPORARY))

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        file, buffer = self._system.open(self._new_path(self._path, name)), self._buffer()
        try:
            self._copy.copyBytes(file, buffer, 1 << 20)
        finally:
            file.close()
        return bytes(buffer.toByteArray())

    def write(self, name: str, data: bytes) -> None:
        """Write a new file, which appears under its name once it is complete. OSError if that fails."""
        temporary, final = (self._new_path(self._path, each) for each in (TEMPORARY + name, name))
        file = self._system.create(temporary, True)
        try:
            file.write(bytearray(data))
        finally:
            file.close()
        self._system.delete(final, False)  # some file systems do not rename to a name that is taken
        if not self._system.rename(temporary, final):
            raise OSError(f"{final.toString()} cannot be written: {temporary.toString()} cannot be renamed.")

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._system.delete(self._new_path(self._path, name), False)
