//! Limits: of connections, of descriptors, of cores.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use procfs::process::Process;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::Case;
use crate::conditions::{self, Condition};
use crate::server::{Server, patient};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("connections_over_the_limit_are_refused_and_a_free_place_is_taken_again", over_the_limit),
    ("out_of_descriptors_it_waits_and_goes_on_by_itself", out_of_descriptors),
    ("a_cpuset_that_does_not_start_at_0_is_respected", cpuset),
    ("explicit_cores_are_taken", explicit_cores),
];

/// Whether a new connection is served.
fn is_served(server: &Server) -> Option<TcpStream> {
    let mut stream = server.connect();
    let mut reply = [0; 4];
    let served = stream.write_all(b"ping").and_then(|()| stream.read_exact(&mut reply)).is_ok();
    served.then_some(stream)
}

fn over_the_limit(backend: &'static str) {
    let server = Server::start(backend, &["--workers", "2", "--limit", "3", "--overflow", "reject"]);
    let held: Vec<_> = (0..6).map(|_| is_served(&server).expect("room")).collect();
    for _ in 0..5 {
        assert!(is_served(&server).is_none(), "a seventh of six was served");
    }
    drop(held);
    crate::traffic::wait_until(|| is_served(&server).is_some());
    server.stop_cleanly();
}

fn out_of_descriptors(backend: &'static str) {
    let mut command = Command::new("prlimit");
    let own = conditions::command(Condition::Overcommitted, backend);
    command.arg("--nofile=64:64").arg(own.get_program());
    command.envs(own.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let server = Server::spawn(command);
    let process = Process::new(server.pid().try_into().unwrap()).unwrap();
    let mut held: Vec<_> = (0..100).map(|_| patient(TcpStream::connect(server.address).unwrap())).collect();
    for stream in &mut held {
        // Those for whom there is no descriptor may have been told so already.
        let _ = stream.write_all(b"ping");
    }
    // As many as there are descriptors for are served; the first of them now.
    let mut reply = [0; 4];
    held[0].read_exact(&mut reply).unwrap();
    crate::traffic::wait_until(|| process.fd_count().unwrap() >= 64);
    // Out of descriptors it neither spins nor serves less than before.
    let ticks = |process: &Process| process.stat().map(|stat| stat.utime + stat.stime).unwrap();
    let before = ticks(&process);
    for _ in 0..50 {
        held[0].write_all(b"ping").unwrap();
        held[0].read_exact(&mut reply).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(10)); // the time over which a spin would show
    }
    let spent = ticks(&process) - before;
    assert!(spent < 25, "{spent} ticks of CPU time in 50: it spins");
    // Whoever came too late has been told; relieved, it serves again.
    assert!(held.pop().unwrap().read_exact(&mut reply).is_err());
    drop(held);
    crate::traffic::wait_until(|| is_served(&server).is_some());
    server.stop_cleanly();
}

fn workers_allowed(server: &Server) -> Vec<String> {
    let process = Process::new(server.pid().try_into().unwrap()).unwrap();
    let tasks = process.tasks().unwrap().map(Result::unwrap);
    let mut allowed: Vec<_> = tasks
        .filter_map(|task| {
            let status = task.status().unwrap();
            let number = status.name.strip_prefix("corepool-")?.parse::<usize>().ok()?;
            Some((number, format!("{:?}", status.cpus_allowed_list.unwrap())))
        })
        .collect();
    allowed.sort();
    allowed.into_iter().map(|(_, list)| list).collect()
}

fn last_core() -> String {
    let cores = core_affinity::get_core_ids().unwrap();
    cores.last().unwrap().id.to_string()
}

fn cpuset(backend: &'static str) {
    let core = last_core();
    let own = crate::server::command(backend, &[]);
    let mut command = Command::new("taskset");
    command.args(["-c", &core]).arg(own.get_program()).args(own.get_args());
    let server = Server::spawn(command);
    assert_eq!(workers_allowed(&server), [format!("[({core}, {core})]")]);
    assert!(is_served(&server).is_some());
    server.stop_cleanly();
}

fn explicit_cores(backend: &'static str) {
    let core = last_core();
    let server = Server::start(backend, &["--cores", &format!("{core},{core}")]);
    let expected = format!("[({core}, {core})]");
    assert_eq!(workers_allowed(&server), [expected.clone(), expected]);
    assert!(is_served(&server).is_some());
    server.stop_cleanly();
}

/// Lets this process hold as many sockets as the cases need.
pub(crate) fn raise_descriptor_limit() {
    let Rlimit { maximum, .. } = rustix::process::getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}
