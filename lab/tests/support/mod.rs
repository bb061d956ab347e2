//! What the tests share: the lab as a process, and echo servers of `std` that
//! can be made to misbehave.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses another part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread;

use procfs::process::Process;
use rustix::process::Pid;
use serde_json::Value;

/// The executable under test.
pub(crate) const LAB: &str = env!("CARGO_BIN_EXE_corepool-lab");

/// Runs the lab to its end.
pub(crate) fn lab(arguments: &[&str]) -> Output {
    Command::new(LAB).args(arguments).output().unwrap()
}

/// What it printed on the standard output, as JSON.
pub(crate) fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {output:?}"))
}

/// What it printed on the standard error.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server with a thread per connection, which runs as long as the test. What
/// it does with a connection is up to the test.
pub(crate) fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A server that replies with what `reply` makes of each chunk that it receives;
/// none closes the connection. It is told how many chunks came before.
pub(crate) fn replying(
    reply: impl Fn(usize, &[u8]) -> Option<Vec<u8>> + Send + Sync + 'static,
) -> SocketAddr {
    server(move |mut stream| {
        stream.set_nodelay(true).unwrap();
        let mut buffer = vec![0; 64 * 1024];
        for earlier in 0.. {
            let Ok(count @ 1..) = stream.read(&mut buffer) else {
                return;
            };
            let Some(bytes) = reply(earlier, &buffer[..count]) else {
                return;
            };
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
    })
}

/// A server that does it right.
pub(crate) fn echo() -> SocketAddr {
    replying(|_, bytes| Some(bytes.to_vec()))
}

/// The process that serves this for the lab; waits until it has the connections.
pub(crate) fn serving_child(lab: u32, name: &str) -> Pid {
    let process = |pid: u32| Process::new(i32::try_from(pid).unwrap());
    let lab = process(lab).unwrap();
    let serves = |child: &Process| {
        let arguments = child.cmdline().unwrap_or_default();
        arguments.get(1..3) == Some(&["serve".to_owned(), name.to_owned()])
            && child.fd_count().unwrap_or_default() > 64
    };
    loop {
        let children = lab.task_main_thread().unwrap().children().unwrap();
        let mut children = children.into_iter().filter_map(|child| process(child).ok());
        if let Some(child) = children.find(serves) {
            return Pid::from_raw(child.pid).unwrap();
        }
        thread::yield_now();
    }
}
