//! corepool on monoio (io_uring)
