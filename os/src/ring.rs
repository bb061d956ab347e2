//! Why an `io_uring` cannot be set up here, and what to do about it.
//!
//! The facts are read from the machine; the verdict is a pure function of them, so that every refusal can be
//! tried without a kernel that refuses.

use std::io;

use corepool_core::error::Unavailable;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// What is known of this machine when setting up a ring has failed.
#[derive(Debug, Clone)]
struct Facts {
    /// `kernel.io_uring_disabled`, where the kernel has it.
    disabled: Option<u8>,
    kernel: String,
    /// The limit of locked memory, in bytes; `None` is unlimited.
    memlock: Option<u64>,
    ring_entries: u32,
}

/// Explains why `backend` could not set up a ring of `ring_entries` submission entries: `error` in words, with
/// what to do. `kernel_needed` is the oldest kernel that has what the backend asks for.
pub fn explain(
    backend: &'static str,
    ring_entries: u32,
    kernel_needed: &str,
    error: io::Error,
) -> Unavailable {
    let facts = Facts {
        disabled: std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
            .ok()
            .and_then(|text| text.trim().parse().ok()),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        memlock: getrlimit(Resource::Memlock).current,
        ring_entries,
    };
    let (reason, advice) = diagnose(&facts, kernel_needed, &error);
    Unavailable::new(backend, reason, advice, error)
}

/// The memory that the kernel locks for a ring, in bytes: the submission entries, twice as many completion
/// entries, the index array, and a page for the heads.
fn ring_bytes(entries: u32) -> u64 {
    u64::from(entries) * (64 + 2 * 16 + 4) + 4096
}

fn diagnose(facts: &Facts, kernel_needed: &str, error: &io::Error) -> (String, String) {
    let alternative = "or choose a backend on epoll, which needs no io_uring";
    match Errno::from_io_error(error) {
        Some(Errno::PERM | Errno::ACCESS) => match facts.disabled {
            Some(2) => (
                "io_uring is switched off by the sysctl kernel.io_uring_disabled = 2".into(),
                format!("Set it to 0 (sysctl -w kernel.io_uring_disabled=0), {alternative}"),
            ),
            Some(1) => (
                "io_uring is restricted by the sysctl kernel.io_uring_disabled = 1".into(),
                format!("Set it to 0, add this user to the group of kernel.io_uring_group, {alternative}"),
            ),
            _ => (
                "io_uring is denied to this process (EPERM), by a seccomp filter or a security module".into(),
                format!(
                    "In a container, allow io_uring_setup, io_uring_enter and io_uring_register in its \
                     seccomp profile (Docker's default denies them), {alternative}"
                ),
            ),
        },
        Some(Errno::NOMEM) => {
            let needed = ring_bytes(facts.ring_entries) / 1024;
            let allowed =
                facts.memlock.map_or_else(|| "unlimited".into(), |bytes| format!("{} KiB", bytes / 1024));
            (
                format!(
                    "not enough locked memory for its ring: {needed} KiB are needed for each worker, and \
                     {allowed} are allowed for all rings of this user together"
                ),
                format!(
                    "Raise the limit (ulimit -l, LimitMEMLOCK=, --ulimit memlock=), use fewer workers, {alternative}"
                ),
            )
        }
        Some(Errno::NOSYS) => (
            format!("kernel {} has no io_uring, or it is filtered out", facts.kernel),
            format!("Use kernel {kernel_needed} or newer, {alternative}"),
        ),
        Some(Errno::INVAL) => (
            format!("kernel {} does not know an io_uring feature that is needed", facts.kernel),
            format!("Use kernel {kernel_needed} or newer, {alternative}"),
        ),
        Some(Errno::MFILE | Errno::NFILE) => (
            "no file descriptor is left for its ring".into(),
            "Raise the limit of open files (ulimit -n, LimitNOFILE=)".into(),
        ),
        _ => (
            format!("io_uring cannot be set up: {error}"),
            format!("See the kernel's log for the cause, {alternative}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(errno: Errno, disabled: Option<u8>) -> String {
        let facts = Facts { disabled, kernel: "5.4.0".into(), memlock: Some(64 * 1024), ring_entries: 1024 };
        let (reason, advice) = diagnose(&facts, "6.1", &errno.into());
        format!("{reason}. {advice}")
    }

    #[test]
    fn a_sysctl_that_forbids_rings_is_named() {
        assert!(told(Errno::PERM, Some(2)).contains("kernel.io_uring_disabled = 2"));
        assert!(told(Errno::PERM, Some(1)).contains("kernel.io_uring_group"));
    }

    #[test]
    fn a_denial_without_a_sysctl_is_put_down_to_seccomp() {
        assert!(told(Errno::PERM, Some(0)).contains("seccomp"));
        assert!(told(Errno::PERM, None).contains("seccomp"));
    }

    #[test]
    fn too_little_locked_memory_names_both_amounts() {
        let text = told(Errno::NOMEM, Some(0));
        assert!(text.contains("104 KiB are needed") && text.contains("64 KiB are allowed"), "{text}");
    }

    #[test]
    fn an_old_kernel_is_named_with_the_one_that_is_needed() {
        for errno in [Errno::NOSYS, Errno::INVAL] {
            let text = told(errno, None);
            assert!(text.contains("5.4.0") && text.contains("6.1"), "{text}");
        }
    }
}
