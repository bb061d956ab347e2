//! Servers that must not start, and what they say.

use std::process::{Command, Stdio};

use crate::Case;
use crate::conditions::{self, Condition};
use crate::server::{Server, command, example};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("a_second_server_on_the_address_is_refused", second_server),
    ("without_io_uring_a_ring_backend_says_so_and_epoll_runs", denied_rings),
    ("with_too_little_locked_memory_a_ring_backend_says_how_much", locked_memory),
    ("impossible_arguments_are_named", impossible_arguments),
    ("an_unknown_backend_is_told_what_there_is", unknown_backend),
];

/// Runs a command that must fail, and gives what it said.
fn refused(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "it ran: {said}");
    said
}

fn second_server(backend: &'static str) {
    let first = Server::start(backend, &[]);
    let address = first.address.to_string();
    let said = refused(Command::new(example()).args(["--backend", backend, "--addr", &address]));
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
    first.stop_cleanly();
}

fn denied_rings(backend: &'static str) {
    let mut command = conditions::command(Condition::NoRings, backend);
    if backend == "tokio" {
        Server::spawn(command).stop_cleanly();
        return;
    }
    let said = refused(&mut command);
    assert!(said.contains(&format!("the {backend} backend cannot start")), "{said}");
    assert!(said.contains("seccomp") && said.contains("epoll"), "{said}");
}

fn locked_memory(backend: &'static str) {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become somebody whose locked memory is limited");
        return;
    }
    // Root is exempt from the limit, so somebody else runs a copy that everybody may read.
    let folder = std::env::temp_dir().join(format!("corepool-test-{}-{backend}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("echo");
    std::fs::copy(example(), &copy).unwrap();
    let own = command(backend, &[]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.args(["prlimit", "--memlock=16384:16384"]).arg(&copy).args(own.get_args());
    if backend == "tokio" {
        Server::spawn(command).stop_cleanly();
    } else {
        let said = refused(&mut command);
        assert!(said.contains("locked memory") && said.contains("16 KiB are allowed"), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn impossible_arguments(backend: &'static str) {
    let said = |arguments: &[&str]| refused(&mut command(backend, arguments));
    assert!(said(&["--workers", "0"]).contains("workers is 0"));
    assert!(said(&["--limit", "0"]).contains("limit is 0"));
    assert!(said(&["--cores", "4095"]).contains("core 4095 is not available"));
    assert!(said(&["--placement", "nowhere"]).contains("always-other"));
    assert!(said(&["--addr", "nonsense"]).contains("listen is nonsense"));
    assert!(said(&["--addr", "192.0.2.1:0"]).contains("cannot listen on 192.0.2.1:0"));
}

fn unknown_backend(backend: &'static str) {
    let said = refused(Command::new(example()).args(["--backend", "nonesuch"]));
    assert!(said.contains("\"nonesuch\"") && said.contains(backend), "{said}");
    let said = refused(Command::new(example()).env("COREPOOL_BACKEND", "nonesuch"));
    assert!(said.contains("named by COREPOOL_BACKEND"), "{said}");
}
