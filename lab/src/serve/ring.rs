//! What it means when an io_uring cannot be made, for the servers by hand.

use std::fs;
use std::io;

use rustix::process::{Resource, getrlimit};

/// Adds the reason, and what to do, to the error of a runtime that could not
/// make its ring.
pub(super) fn explain(error: io::Error) -> io::Error {
    use rustix::io::Errno;

    let reason = match Errno::from_io_error(&error) {
        Some(Errno::PERM) => denied(),
        Some(Errno::NOMEM) => format!(
            "too little lockable memory (RLIMIT_MEMLOCK is {}); raise `ulimit -l`",
            getrlimit(Resource::Memlock)
                .current
                .map_or_else(|| "unlimited".to_owned(), |bytes| format!("{bytes} bytes")),
        ),
        Some(Errno::NOSYS) => "this kernel has no io_uring".to_owned(),
        Some(Errno::INVAL) => "this kernel is too old for the ring's options (6.1 has them)".to_owned(),
        _ => "no ring".to_owned(),
    };
    io::Error::new(error.kind(), format!("io_uring: {reason}: {error}"))
}

fn denied() -> String {
    match fs::read_to_string("/proc/sys/kernel/io_uring_disabled") {
        Ok(level) if level.trim() != "0" => {
            format!("switched off by kernel.io_uring_disabled = {}; set it to 0 with sysctl", level.trim())
        }
        _ => "denied, as seccomp profiles of containers do; allow its system calls".to_owned(),
    }
}
