//! The property: of many requests with unique values, none is ever answered by another's value, whatever clients and
//! upstreams do.
//!
//! Clients send pipelines, leave with requests in flight, or read slowly; the upstream dies before, in and behind
//! replies, is late, splits replies into bytes, and talks nonsense. (One that answers a request twice while others are in
//! flight cannot be told from one that is right.) `PROXY_REQUESTS=1000000` asks for more than the default, and
//! `PROXY_SEED` repeats the choices of a run (not its timing).

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fastrand::Rng;

use crate::client::{Client, Value, request};
use crate::fake::{Act, Fake, value};
use crate::proxy::Proxy;
use crate::{Case, On};

pub(crate) const CASES: &[(&str, Case)] =
    &[("no_reply_reaches_the_wrong_client", no_reply_reaches_the_wrong_client)];

/// Requests for each backend, over both modes.
const REQUESTS: u64 = 100_000;

const CLIENTS: u64 = 8;

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn no_reply_reaches_the_wrong_client(on: On) {
    let requests = number("PROXY_REQUESTS", REQUESTS) / 2;
    let seed = number("PROXY_SEED", fastrand::u64(..));
    eprintln!("{} {}: PROXY_SEED={seed}", on.backend, on.mode);
    let random = Mutex::new(Rng::with_seed(seed));
    let fake = Fake::start(move |_words| act(&mut random.lock().unwrap()));
    let proxy = Proxy::start(
        on,
        &fake.upstream(),
        &["--connections", "3", "--window", "64", "--stall-timeout-ms", "3000"],
    );
    let (address, outcome) = (proxy.address, Outcome::default());
    thread::scope(|scope| {
        for index in 0..CLIENTS {
            let outcome = &outcome;
            let run = move || Requester::new(address, index, seed, outcome).run(requests.div_ceil(CLIENTS));
            scope.spawn(run);
        }
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    let (right, errors, cancelled) =
        (count(&outcome.right), count(&outcome.errors), count(&outcome.cancelled));
    eprintln!(
        "{right} right, {errors} errors, {cancelled} cancelled or cut off, {} connections",
        fake.connections()
    );
    assert!(right + errors + cancelled >= requests);
    assert!(right > requests / 2, "too few were answered for the property to mean anything");
    assert!(errors > 0 && cancelled > 0 && fake.connections() > 10, "nothing has happened to anybody");
    let totals = proxy.stop();
    assert!(totals.of("lost") > 0 && totals.of("malformed") == 0, "{totals:?}");
}

/// What the upstream does next.
fn act(random: &mut Rng) -> Act {
    match random.u32(..4000) {
        0..4 => Act::Die,
        4..8 => Act::DieInside,
        8..10 => Act::Garbage,
        10..31 => Act::Late(Duration::from_micros(random.u64(..3000))),
        31..60 => Act::Bytewise,
        _ => Act::Reply,
    }
}

#[derive(Default)]
struct Outcome {
    right: AtomicU64,
    errors: AtomicU64,
    cancelled: AtomicU64,
}

struct Requester<'a> {
    address: std::net::SocketAddr,
    client: Client,
    index: u64,
    random: Rng,
    outcome: &'a Outcome,
    next: u64,
}

impl<'a> Requester<'a> {
    fn new(address: std::net::SocketAddr, index: u64, seed: u64, outcome: &'a Outcome) -> Self {
        let random = Rng::with_seed(seed.wrapping_add(index + 1));
        Self { address, client: Client::connect(address), index, random, outcome, next: 0 }
    }

    fn run(mut self, requests: u64) {
        while self.next < requests {
            let depth = if self.random.bool() { 1 } else { self.random.u64(1..32) };
            let keys: Vec<_> = (0..depth).map(|_| self.key()).collect();
            if let Err(left) = self.pipeline(&keys) {
                self.outcome.cancelled.fetch_add(left, Ordering::SeqCst);
                self.client = Client::connect(self.address);
            }
        }
    }

    /// A key that no other request has; its value is mostly short, and sometimes longer than a buffer.
    fn key(&mut self) -> String {
        let length = match self.random.u32(..1000) {
            0 => self.random.usize(1000..60_000),
            1..50 => self.random.usize(..2000),
            _ => 40,
        };
        self.next += 1;
        format!("{}x{}x-{length}", self.index, self.next)
    }

    /// Sends requests and checks their replies; `Err` with how many have none, because somebody has left.
    fn pipeline(&mut self, keys: &[String]) -> Result<(), u64> {
        let bytes: Vec<u8> = keys.iter().flat_map(|key| request(&["GET", key])).collect();
        let all = keys.len() as u64;
        match self.random.u32(..300) {
            0 => {
                // Leaves in the middle of a request.
                let _ = self.client.send(&bytes[..self.random.usize(..bytes.len())]);
                return Err(all);
            }
            1 => bytes.chunks(7).try_for_each(|piece| self.client.send(piece)).map_err(|_| all)?,
            _ => self.client.send(&bytes).map_err(|_| all)?,
        }
        let leaves_after =
            if self.random.u32(..100) == 0 { self.random.usize(..keys.len()) } else { keys.len() };
        let is_slow = self.random.u32(..200) == 0;
        for (index, key) in keys.iter().enumerate() {
            let left = all - index as u64;
            if index == leaves_after {
                return Err(left);
            }
            if is_slow {
                thread::sleep(Duration::from_micros(300));
            }
            match self.client.reply() {
                Ok(Value::Bulk(bytes)) => {
                    assert!(
                        bytes == value(key),
                        "crossed: {key} was answered {:?}",
                        String::from_utf8_lossy(&bytes)
                    );
                    self.outcome.right.fetch_add(1, Ordering::SeqCst);
                }
                Ok(Value::Error(text)) => {
                    assert!(text.contains("proxy: "), "{key} was answered {text}");
                    self.outcome.errors.fetch_add(1, Ordering::SeqCst);
                }
                Ok(other) => panic!("crossed: {key} was answered {other:?}"),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    panic!("{key} was never answered")
                }
                Err(_cut_off) => return Err(left),
            }
        }
        Ok(())
    }
}
