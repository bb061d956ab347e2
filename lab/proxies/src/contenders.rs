//! The proxies under test as child processes, each on one core.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A proxy that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// `redis_proxy --mode shared` on a backend.
    Redis(&'static str),
    /// twemproxy.
    Nutcracker,
    /// The control by hand.
    Control,
    /// `tcp_proxy` on a backend.
    Tcp(&'static str),
    /// HAProxy in TCP mode.
    Haproxy,
}

/// One that runs; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    pub(crate) address: SocketAddr,
    configuration: Option<PathBuf>,
}

/// What every contender is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given {
    /// Where it passes connections on to.
    pub(crate) upstream: SocketAddr,
    /// How many connections to it.
    pub(crate) connections: usize,
    /// The core it runs on.
    pub(crate) core: usize,
}

impl Contender {
    /// What the tables call it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Redis(backend) => format!("redis_proxy/{backend}"),
            Self::Nutcracker => "twemproxy".into(),
            Self::Control => "by hand/tokio".into(),
            Self::Tcp(backend) => format!("tcp_proxy/{backend}"),
            Self::Haproxy => "haproxy".into(),
        }
    }

    /// Starts it, and waits until it accepts connections.
    pub(crate) fn start(self, given: Given) -> io::Result<Running> {
        let address = free_address()?;
        let (command, configuration) = self.command(address, given)?;
        let [program, arguments @ ..] = &command[..] else { unreachable!("a command has a program") };
        let mut child = Command::new("taskset")
            .args(["-c", &given.core.to_string(), program])
            .args(arguments)
            .env("RUST_LOG", "error")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let deadline = Instant::now() + START_WITHIN;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > deadline || child.try_wait()?.is_some() {
                // It says itself why, when it is run by hand.
                let _ = child.kill();
                return Err(io::Error::other(format!("did not start: {}", command.join(" "))));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Running { child, address, configuration })
    }

    fn command(self, address: SocketAddr, given: Given) -> io::Result<(Vec<String>, Option<PathBuf>)> {
        let (listen, upstream) = (address.to_string(), given.upstream.to_string());
        let (connections, core) = (given.connections.to_string(), given.core.to_string());
        let own =
            |name: &str| std::env::current_exe().map(|this| this.with_file_name(name).display().to_string());
        let words = |program: String, arguments: &[&str]| {
            [vec![program], arguments.iter().map(ToString::to_string).collect()].concat()
        };
        let both = ["--listen", &listen, "--upstream", &upstream];
        let ours =
            |backend| [&both[..], &["--backend", backend, "--workers", "1", "--cores", &core]].concat();
        Ok(match self {
            Self::Redis(backend) => {
                let shared = ["--mode", "shared", "--connections", &connections];
                (words(own("redis_proxy")?, &[&ours(backend)[..], &shared].concat()), None)
            }
            Self::Tcp(backend) => (words(own("tcp_proxy")?, &ours(backend)), None),
            Self::Control => {
                let arguments = [&["control"], &both[..], &["--connections", &connections]].concat();
                (words(own("corepool-lab-proxies")?, &arguments), None)
            }
            Self::Nutcracker => {
                let text =
                    include_str!("../configuration/nutcracker.yml").replace("CONNECTIONS", &connections);
                let file = configure(&text, address, &upstream)?;
                let stats = free_address()?.port().to_string();
                (words("nutcracker".into(), &["-c", &file.display().to_string(), "-s", &stats]), Some(file))
            }
            Self::Haproxy => {
                let file = configure(include_str!("../configuration/haproxy.cfg"), address, &upstream)?;
                (words("haproxy".into(), &["-db", "-f", &file.display().to_string()]), Some(file))
            }
        })
    }
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Whatever state it is in, it is to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.configuration.as_ref().map(fs::remove_file);
    }
}

const START_WITHIN: Duration = Duration::from_secs(10);

/// Writes a configuration with its places filled in.
fn configure(text: &str, listen: SocketAddr, upstream: &str) -> io::Result<PathBuf> {
    let comments = |line: &&str| !line.starts_with('#');
    let text: Vec<_> = text.lines().filter(comments).collect();
    let text = text.join("\n").replace("LISTEN", &listen.to_string()).replace("UPSTREAM", upstream) + "\n";
    let file =
        std::env::temp_dir().join(format!("corepool-proxies-{}-{}", std::process::id(), listen.port()));
    fs::write(&file, text)?;
    Ok(file)
}

/// An address that was free a moment ago.
pub(crate) fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_filled_in() {
        let upstream = free_address().unwrap();
        let given = Given { upstream, connections: 3, core: 0 };
        for contender in [Contender::Nutcracker, Contender::Haproxy] {
            let (command, file) = contender.command(free_address().unwrap(), given).unwrap();
            let file = file.unwrap();
            let text = fs::read_to_string(&file).unwrap();
            fs::remove_file(&file).unwrap();
            assert!(command.contains(&file.display().to_string()));
            assert!(text.contains(&upstream.to_string()) && text.ends_with('\n'), "{text}");
            assert!(
                !["LISTEN", "UPSTREAM", "CONNECTIONS", "#"].iter().any(|place| text.contains(place)),
                "{text}"
            );
        }
    }
}
