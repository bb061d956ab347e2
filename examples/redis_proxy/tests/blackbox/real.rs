//! Debian's `redis-server`, `redis-cli` and `redis-benchmark`; skipped, with a notice, where they are not installed.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::client::{Client, Value, request};
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] = &[("a_real_redis_and_its_tools", a_real_redis_and_its_tools)];

/// A Redis of our own, in memory only.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    /// Starts one, if there is one to be started.
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings =
            ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", &port.to_string()];
        let started = Command::new("redis-server").args(settings).stdout(Stdio::piped()).spawn();
        let mut child = started.inspect_err(|error| eprintln!("SKIPPED: redis-server: {error}")).ok()?;
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = said.any(|line| line.unwrap().contains("Ready to accept connections"));
        assert!(ready, "redis-server did not start");
        std::thread::spawn(move || said.count());
        Some(Self { child, port })
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a tool says that is run against the proxy.
fn tool(name: &str, proxy: &Proxy, arguments: &[&str]) -> String {
    let port = proxy.address.port().to_string();
    let output = Command::new(name).args(["-p", &port]).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{name}, which comes with redis-server: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "\n");
    assert!(output.status.success(), "{name}: {said}");
    said
}

fn a_real_redis_and_its_tools(on: On) {
    let Some(redis) = Redis::start() else { return };
    let proxy = Proxy::start(on, &format!("127.0.0.1:{}", redis.port), &["--connections", "4"]);
    let cli = |arguments: &[&str]| tool("redis-cli", &proxy, arguments);
    assert_eq!(cli(&["set", "key", "value"]), "OK\n");
    assert_eq!(cli(&["get", "key"]), "value\n");
    assert_eq!(cli(&["eval", "return {1,{2,{3,'x'}}}", "0"]), "1\n2\n3\nx\n");
    assert!(cli(&["command", "docs"]).contains("zunionstore"));
    for pipelining in ["1", "16"] {
        let said = tool(
            "redis-benchmark",
            &proxy,
            &["-q", "-n", "5000", "-c", "20", "-P", pipelining, "-t", "set,get,lpush,mset"],
        );
        for test in ["SET: ", "GET: ", "LPUSH: ", "MSET (10 keys): "] {
            assert!(said.contains(&format!("\n{test}")) || said.starts_with(test), "{said}");
        }
    }
    let mut client = proxy.connect();
    if on.mode == "direct" {
        binds(&proxy, &mut client)
    } else {
        refuses(&mut client)
    }
    drop(client);
    proxy.stop();
}

/// State of a connection is the client's alone.
fn binds(proxy: &Proxy, client: &mut Client) {
    let ok = || Value::Simple("OK".into());
    let queued = || Value::Simple("QUEUED".into());
    let transaction = [request(&["MULTI"]), request(&["INCR", "n"]), request(&["EXEC"])].concat();
    client.send(&transaction).unwrap();
    assert_eq!(
        [(); 3].map(|()| client.reply().unwrap()),
        [ok(), queued(), Value::Array(vec![Value::Integer(1)])]
    );
    assert_eq!(client.ask(&["SELECT", "5"]), ok());
    assert_eq!(client.ask(&["SET", "only", "in five"]), ok());
    let mut other = proxy.connect();
    assert_eq!(other.ask(&["GET", "only"]), Value::Null);
    let mut subscriber = proxy.connect();
    assert!(matches!(subscriber.ask(&["SUBSCRIBE", "news"]), Value::Array(_)));
    assert_eq!(other.ask(&["PUBLISH", "news", "hello"]), Value::Integer(1));
    let message = ["message", "news", "hello"].map(|word| Value::Bulk(word.into())).to_vec();
    assert_eq!(subscriber.reply().unwrap(), Value::Array(message));
    let mut waiting = proxy.connect();
    waiting.send(&request(&["BLPOP", "queue", "10"])).unwrap();
    assert_eq!(other.ask(&["RPUSH", "queue", "job"]), Value::Integer(1));
    assert_eq!(
        waiting.reply().unwrap(),
        Value::Array(["queue", "job"].map(|word| Value::Bulk(word.into())).to_vec())
    );
}

fn refuses(client: &mut Client) {
    for words in
        [&["MULTI"][..], &["SELECT", "5"], &["SUBSCRIBE", "news"], &["BLPOP", "queue", "0"], &["HELLO", "3"]]
    {
        assert!(client.ask(words).is_error("binds state"), "{words:?}");
    }
    assert_eq!(client.ask(&["PING"]), Value::Simple("PONG".into()));
}
