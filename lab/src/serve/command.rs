//! Any server of the user: a command line that is told where to listen.
//!
//! It runs in a process group of its own, on the cores of the servers, and is
//! ended with all that it has started when this process is told to end.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{ServeOptions, Stop};
use crate::cores::confine_current_thread;

/// A running command; all of its process group ends when this is dropped.
#[derive(Debug)]
pub(super) struct Running {
    group: Pid,
    pub(super) address: SocketAddr,
}

impl Running {
    /// Starts the command and waits until somebody accepts connections where it
    /// was told to listen.
    pub(super) fn start(line: &str, options: &ServeOptions, stop: &Sender<Stop>) -> io::Result<Self> {
        if !options.cores.is_empty() {
            confine_current_thread(&options.cores)?;
        }
        let address = free(options.address)?;
        let mut child = command(line, address).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("a process without a number"))?;
        let running = Self { group, address };
        await_connection(&mut child, address)?;
        let stop = stop.clone();
        thread::Builder::new().name("command".to_owned()).spawn(move || {
            let reason = child.wait().map_or_else(|error| error.to_string(), how);
            // Nobody listens any more when the process is already ending.
            let _ = stop.send(Stop::Failed(reason));
        })?;
        Ok(running)
    }

    /// Its first process.
    pub(super) fn pid(&self) -> u32 {
        self.group.as_raw_nonzero().get().unsigned_abs()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already if this fails.
        let _ = kill_process_group(self.group, Signal::TERM);
        let deadline = Instant::now() + END_WITHIN;
        while kill_process_group(self.group, Signal::CONT).is_ok() && Instant::now() < deadline {
            thread::sleep(LOOK_AGAIN);
        }
        let _ = kill_process_group(self.group, Signal::KILL);
    }
}

/// The command line, with the address put in; the shell reads its quotes.
fn command(line: &str, address: SocketAddr) -> Command {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let line = line.replace("{addr}", &address.to_string()).replace("{host}", &host).replace("{port}", &port);
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec {line}")])
        .env("LAB_ADDR", address.to_string())
        .env("LAB_HOST", host)
        .env("LAB_PORT", port)
        .stdin(Stdio::null())
        // Ours is where the lab reads that it is ready.
        .stdout(Stdio::null())
        .process_group(0);
    command
}

/// An address that nobody listens on; port 0 is resolved.
fn free(address: SocketAddr) -> io::Result<SocketAddr> {
    TcpListener::bind(address)?.local_addr()
}

fn await_connection(child: &mut Child, address: SocketAddr) -> io::Result<()> {
    let deadline = Instant::now() + READY_WITHIN;
    while TcpStream::connect(address).is_err() {
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!(
                "the command has ended before it accepted: {}",
                how(status)
            )));
        }
        if Instant::now() > deadline {
            let seconds = READY_WITHIN.as_secs();
            return Err(io::Error::other(format!(
                "the command does not accept connections on {address} after {seconds} seconds; it finds the \
                 address in place of {{addr}}, {{host}} and {{port}}, and in LAB_ADDR, LAB_HOST and LAB_PORT"
            )));
        }
        thread::sleep(LOOK_AGAIN);
    }
    Ok(())
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("the command ended with {code}"),
        (None, Some(signal)) => format!("the command was ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Less than the lab waits for this process.
const READY_WITHIN: Duration = Duration::from_secs(8);
const END_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
