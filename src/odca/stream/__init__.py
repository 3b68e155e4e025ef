"""Streams in files: from bytes on a disk or in a pipe to rows for a learner."""
