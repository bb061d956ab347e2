//! What a server does with what it receives, without any I/O: the same for
//! every system under test.
//!
//! Bytes go in with [`Session::receive`], then [`Session::next`] says what to do,
//! one thing after the other, until there is nothing left but to receive again.
//! Computing is done on the way, on the caller's core.

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::workload::mix::Step;
use crate::workload::{Mix, Service};

/// The next thing to do for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Send what was last received.
    Echo,
    /// Send these bytes.
    Send(&'static [u8]),
    /// Let others run for so long.
    Wait(Duration),
    /// Close the connection once all is sent.
    Close,
}

/// What all sessions of a server have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    pub(super) service: Service,
    http_reply: &'static [u8],
}

/// One connection.
#[derive(Debug)]
pub(super) enum Session {
    Echo { pending: bool },
    EchoOnce { left: usize, pending: bool },
    Spin { rounds: u32, pending: bool },
    Work(Work),
    Transfer(Transfer),
    Http(Http),
}

/// Requests of a fixed size, the first byte of which says what to do.
#[derive(Debug)]
pub(super) struct Work {
    bytes: usize,
    mix: Mix,
    /// How much of the request under way has come.
    received: usize,
    steps: VecDeque<&'static [Step]>,
    pending: bool,
}

/// Requests of one size, replies of another.
#[derive(Debug)]
pub(super) struct Transfer {
    request_bytes: usize,
    reply_bytes: usize,
    /// How much of the request under way has come.
    received: usize,
    replies: usize,
    /// How much of the reply under way has gone.
    sent: usize,
}

/// HTTP/1.1 without bodies of requests.
#[derive(Debug)]
pub(super) struct Http {
    reply: &'static [u8],
    /// The beginning of a request that is not complete.
    partial: Vec<u8>,
    replies: usize,
    closing: bool,
}

impl Script {
    /// Prepares what is sent again and again; it is kept for ever.
    pub(super) fn new(service: Service) -> Self {
        let http_reply: &[u8] = match service {
            Service::Http { bytes } => {
                let mut reply =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {bytes}\r\n\r\n")
                        .into_bytes();
                reply.extend(BLOCK.iter().cycle().take(bytes).map(|byte| b'a' + byte % 26));
                reply.leak()
            }
            _ => &[],
        };
        Self { service, http_reply }
    }

    pub(super) fn is_echo(self) -> bool {
        self.service == Service::Echo
    }

    pub(super) fn session(self) -> Session {
        match self.service {
            Service::Echo => Session::Echo { pending: false },
            Service::EchoOnce { bytes } => Session::EchoOnce { left: bytes, pending: false },
            Service::Spin { rounds } => Session::Spin { rounds, pending: false },
            Service::Work { bytes, mix } => {
                Session::Work(Work { bytes, mix, received: 0, steps: VecDeque::new(), pending: false })
            }
            Service::Transfer { request_bytes, reply_bytes } => {
                Session::Transfer(Transfer { request_bytes, reply_bytes, received: 0, replies: 0, sent: 0 })
            }
            Service::Http { .. } => Session::Http(Http {
                reply: self.http_reply,
                partial: Vec::new(),
                replies: 0,
                closing: false,
            }),
        }
    }
}

impl Session {
    /// Takes in what has been received, which is something.
    pub(super) fn receive(&mut self, chunk: &[u8]) {
        match self {
            Self::Echo { pending } => *pending = true,
            Self::EchoOnce { left, pending } => {
                *left = left.saturating_sub(chunk.len());
                *pending = true;
            }
            Self::Spin { rounds, pending } => {
                spin(*rounds);
                *pending = true;
            }
            Self::Work(work) => work.receive(chunk),
            Self::Transfer(transfer) => {
                let received = transfer.received + chunk.len();
                transfer.replies += received / transfer.request_bytes;
                transfer.received = received % transfer.request_bytes;
            }
            Self::Http(http) => http.receive(chunk),
        }
    }

    /// What to do now; nothing if that is to receive.
    pub(super) fn next(&mut self) -> Option<Action> {
        let take = |pending: &mut bool| std::mem::take(pending).then_some(Action::Echo);
        match self {
            Self::Echo { pending } | Self::Spin { pending, .. } => take(pending),
            Self::EchoOnce { left, pending } => {
                take(pending).or_else(|| (*left == 0).then_some(Action::Close))
            }
            Self::Work(work) => work.wait().or_else(|| take(&mut work.pending)),
            Self::Transfer(transfer) => transfer.next(),
            Self::Http(http) if http.replies > 0 => {
                http.replies -= 1;
                Some(Action::Send(http.reply))
            }
            Self::Http(http) => http.closing.then_some(Action::Close),
        }
    }
}

impl Work {
    fn receive(&mut self, chunk: &[u8]) {
        self.pending = true;
        let mut rest = chunk;
        while let Some(&first) = rest.first() {
            if self.received == 0 {
                self.steps.push_back(self.mix.endpoint(first).steps());
            }
            let taken = rest.len().min(self.bytes - self.received);
            self.received = (self.received + taken) % self.bytes;
            rest = &rest[taken..];
        }
    }

    /// Works until something has to be waited for.
    fn wait(&mut self) -> Option<Action> {
        while let Some(steps) = self.steps.front_mut() {
            match steps.split_first() {
                None => drop(self.steps.pop_front()),
                Some((&step, rest)) => {
                    *steps = rest;
                    match step {
                        Step::Compute(time) => compute(time),
                        Step::Wait(time) => return Some(Action::Wait(time)),
                    }
                }
            }
        }
        None
    }
}

impl Transfer {
    fn next(&mut self) -> Option<Action> {
        if self.replies == 0 {
            return None;
        }
        let place = self.sent % BLOCK.len();
        let part = &BLOCK[place..][..(BLOCK.len() - place).min(self.reply_bytes - self.sent)];
        self.sent += part.len();
        if self.sent == self.reply_bytes {
            self.sent = 0;
            self.replies -= 1;
        }
        Some(Action::Send(part))
    }
}

impl Http {
    fn receive(&mut self, chunk: &[u8]) {
        if self.partial.is_empty() {
            let taken = self.take_requests(chunk);
            self.partial.extend_from_slice(&chunk[taken..]);
        } else {
            let mut text = std::mem::take(&mut self.partial);
            text.extend_from_slice(chunk);
            let taken = self.take_requests(&text);
            text.drain(..taken);
            self.partial = text;
        }
    }

    /// Counts the complete requests; returns how many bytes they have.
    fn take_requests(&mut self, text: &[u8]) -> usize {
        let mut taken = 0;
        while taken < text.len() && !self.closing {
            let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&text[taken..]) {
                Ok(httparse::Status::Complete(bytes)) => {
                    taken += bytes;
                    self.closing = !is_get_and_stays_open(&request);
                    self.replies += usize::from(request.method == Some("GET"));
                }
                Ok(httparse::Status::Partial) if text.len() - taken < REQUEST_BYTES_MAX => break,
                Ok(httparse::Status::Partial) | Err(_) => self.closing = true,
            }
        }
        taken
    }
}

fn is_get_and_stays_open(request: &httparse::Request<'_, '_>) -> bool {
    let closes = |header: &httparse::Header<'_>| {
        header.name.eq_ignore_ascii_case("connection") && header.value.eq_ignore_ascii_case(b"close")
    };
    request.method == Some("GET") && !request.headers.iter().any(closes)
}

/// Keeps this core busy.
/// Goes round a loop that the compiler does not see through.
pub(crate) fn spin(rounds: u32) {
    for round in 0..rounds {
        std::hint::black_box(round);
    }
}

fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// What the large replies of transfers repeat; the clients know it too.
pub(crate) static BLOCK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut block = vec![0; BLOCK_BYTES];
    fastrand::Rng::with_seed(0).fill(&mut block);
    block
});

const BLOCK_BYTES: usize = 64 * 1024;
const HEADERS_MAX: usize = 64;
const REQUEST_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn actions(session: &mut Session, chunk: &[u8]) -> Vec<Action> {
        session.receive(chunk);
        std::iter::from_fn(|| session.next()).take(20).collect()
    }

    #[test]
    fn an_echo_is_one_action_for_each_chunk() {
        let mut session = Script::new(Service::Echo).session();
        assert_eq!(actions(&mut session, b"ab"), [Action::Echo]);
        assert_eq!(actions(&mut session, b"c"), [Action::Echo]);
    }

    #[test]
    fn a_server_that_spins_echoes() {
        let mut session = Script::new(Service::Spin { rounds: 1000 }).session();
        assert_eq!(actions(&mut session, b"ab"), [Action::Echo]);
    }

    #[test]
    fn the_last_byte_of_an_echo_that_closes_is_sent_first() {
        let mut session = Script::new(Service::EchoOnce { bytes: 3 }).session();
        assert_eq!(actions(&mut session, b"ab"), [Action::Echo]);
        let last = actions(&mut session, b"c");
        assert_eq!(last[..2], [Action::Echo, Action::Close]);
    }

    #[test]
    fn each_request_is_worked_on_once_however_it_is_cut() {
        let waits = [Duration::from_millis(2), Duration::from_millis(10)].map(Action::Wait);
        let mut session = Script::new(Service::Work { bytes: 4, mix: Mix::PureIo }).session();
        let [first, second] = waits;
        assert_eq!(actions(&mut session, b"abc"), [first, second, Action::Echo]);
        assert_eq!(actions(&mut session, b"d"), [Action::Echo]);
        assert_eq!(actions(&mut session, b"abcdab"), [first, second, first, second, Action::Echo]);
        let mut pages = Script::new(Service::Work { bytes: 4, mix: Mix::PureCpu }).session();
        assert_eq!(actions(&mut pages, b"abcd"), [Action::Echo]);
    }

    #[test]
    fn a_reply_of_a_transfer_has_its_bytes_and_comes_after_the_whole_request() {
        let service = Service::Transfer { request_bytes: 10, reply_bytes: BLOCK_BYTES + 5 };
        let mut session = Script::new(service).session();
        assert_eq!(actions(&mut session, b"123456789"), []);
        assert_eq!(actions(&mut session, b"0"), [Action::Send(&BLOCK), Action::Send(&BLOCK[..5])]);
        assert_eq!(actions(&mut session, &[0; 20]).len(), 4);
    }

    #[test]
    fn http_requests_are_answered_however_they_are_cut() {
        let script = Script::new(Service::Http { bytes: 7 });
        let reply = Action::Send(script.http_reply);
        assert!(script.http_reply.starts_with(b"HTTP/1.1 200 OK\r\n"));
        let mut session = script.session();
        let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(actions(&mut session, request), [reply]);
        assert_eq!(actions(&mut session, &request[..9]), []);
        assert_eq!(actions(&mut session, &[&request[9..], request].concat()), [reply, reply]);
        let last = actions(&mut session, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
        assert_eq!(last[..2], [reply, Action::Close]);
    }

    #[test]
    fn what_is_no_get_is_not_answered() {
        for text in [&b"hello\r\n\r\n"[..], b"POST / HTTP/1.1\r\n\r\n", &[b'a'; REQUEST_BYTES_MAX]] {
            let mut session = Script::new(Service::Http { bytes: 1 }).session();
            assert_eq!(actions(&mut session, text)[0], Action::Close);
        }
    }
}
