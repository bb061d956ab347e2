//! corepool on compio (io_uring)
