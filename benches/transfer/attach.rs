//! A connection that is attached, and served, by the worker that accepted it, and by another one on another core.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use corepool::Backend;
use corepool::backend::{Bind, BoundOf, Conn, Detached, Listener, SendBuf};
use corepool_core::measure::{Mailbox, Way, way};
use futures_util::future::join_all;
use socket2::SockRef;

use crate::estimate::Estimate;
use crate::wake::thread_cpu_ns;
use crate::{Cores, Scale};

/// What it costs to attach a connection, in microseconds of CPU time of the worker that does it.
#[derive(Debug)]
pub(crate) struct Attach {
    pub(crate) home: Estimate,
    pub(crate) away: Estimate,
    pub(crate) difference: Estimate,
    /// The same difference of all that its worker does for it, from the attach to the close.
    pub(crate) whole_difference: Estimate,
}

/// Where the accepted connections shall be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Home,
    Away,
}

/// What one connection has cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    attach_us: f64,
    whole_us: f64,
}

pub(crate) fn at_home_and_away<B: Backend>(scale: Scale, cores: Cores) -> Attach {
    let bind = Bind { address: ([127, 0, 0, 1], 0).into(), listeners: 1, backlog: 1024, v6_only: false };
    let (address, mut bound) = B::bind(&bind).expect("a free port");
    let bound = bound.pop().expect("one listener");
    let ((wishes, wished), (sockets, handed)) = (way(), way());
    let (costs, cost) = channel();
    let home = {
        let costs = costs.clone();
        thread::spawn(move || {
            let root = |_driver| accept::<B>(bound, wished, sockets, scale.batch, costs);
            B::run(Some(cores.home), &B::Config::default(), root).expect("the backend runs");
        })
    };
    let away = thread::spawn(move || {
        let root = |_driver| receive::<B>(handed, costs);
        B::run(Some(cores.other), &B::Config::default(), root).expect("the backend runs");
    });
    let mut pairs = Vec::new();
    for index in 0..=scale.samples {
        let measure = |place| sample(address, scale.batch, &wishes, place, &cost);
        // Neither is always the first.
        let pair = match index % 2 {
            0 => (measure(Where::Home), measure(Where::Away)),
            _ => {
                let away = measure(Where::Away);
                (measure(Where::Home), away)
            }
        };
        pairs.push(pair);
    }
    drop(wishes);
    home.join().expect("it ends with its wishes");
    away.join().expect("it ends with its mailbox");
    pairs.remove(0); // its memory was new
    let all = |figure: fn(&(Cost, Cost)) -> f64| Estimate::of(pairs.iter().map(figure).collect());
    Attach {
        home: all(|(home, _)| home.attach_us),
        away: all(|(_, away)| away.attach_us),
        difference: all(|(home, away)| away.attach_us - home.attach_us),
        whole_difference: all(|(home, away)| away.whole_us - home.whole_us),
    }
}

/// Connects, has the connections served, and says what that has cost who served them.
fn sample(
    address: SocketAddr,
    count: usize,
    wishes: &Way<Where>,
    place: Where,
    cost: &Receiver<Cost>,
) -> Cost {
    let mut clients: Vec<_> = (0..count).map(|_| connect(address)).collect();
    wishes.hand_over(place);
    let cost = cost.recv_timeout(Duration::from_secs(30)).expect("they are served");
    for client in &mut clients {
        client.read_exact(&mut [0; MESSAGE]).expect("the reply");
        // No port shall be left in TIME_WAIT.
        SockRef::from(&*client).set_linger(Some(Duration::ZERO)).expect("a socket");
    }
    cost
}

fn connect(address: SocketAddr) -> TcpStream {
    let mut client = TcpStream::connect(address).expect("room in the queue");
    client.write_all(&[1; MESSAGE]).expect("an open connection");
    client
}

/// The worker that accepts.
async fn accept<B: Backend>(
    bound: BoundOf<B>,
    wishes: Mailbox<Where>,
    other: Way<Vec<B::Socket>>,
    count: usize,
    costs: Sender<Cost>,
) {
    let mut listener = <B::Listener as Listener>::attach(bound).expect("a listener");
    while let Some(place) = wishes.receive().await {
        let mut sockets = Vec::with_capacity(count);
        while sockets.len() < count {
            poll_fn(|cx| listener.poll_ready(cx)).await.expect("readiness");
            while sockets.len() < count {
                let Some((socket, _peer)) = listener.try_accept().expect("descriptors") else { break };
                sockets.push(socket);
            }
        }
        match place {
            Where::Home => costs.send(serve::<B>(sockets).await).expect("somebody waits for it"),
            Where::Away => other.hand_over(sockets),
        }
    }
    poll_fn(|cx| listener.poll_close(cx)).await;
}

/// The worker that is handed connections.
async fn receive<B: Backend>(mailbox: Mailbox<Vec<B::Socket>>, costs: Sender<Cost>) {
    while let Some(sockets) = mailbox.receive().await {
        costs.send(serve::<B>(sockets).await).expect("somebody waits for it");
    }
}

/// Serves connections, one request each, and says what one of them has cost this thread.
async fn serve<B: Backend>(sockets: Vec<B::Socket>) -> Cost {
    let count = sockets.len() as f64;
    let begun = thread_cpu_ns();
    let attach = |socket| B::Conn::attach(Detached::from(socket)).expect("a socket");
    let conns: Vec<_> = sockets.into_iter().map(attach).collect();
    let attached = thread_cpu_ns();
    join_all(conns.into_iter().map(exchange)).await;
    let per_connection_us = |until: u64| (until - begun) as f64 / count / 1e3;
    Cost { attach_us: per_connection_us(attached), whole_us: per_connection_us(thread_cpu_ns()) }
}

/// A request, its reply, and the close.
async fn exchange<C: Conn>(mut conn: C) {
    let request = poll_fn(|cx| conn.poll_recv(cx)).await.expect("a request").expect("before the end");
    conn.start_send(SendBuf::Loan(request));
    poll_fn(|cx| conn.poll_flush(cx)).await.expect("a client that reads");
    poll_fn(|cx| conn.poll_close(cx)).await;
}

/// Bytes of a request.
const MESSAGE: usize = 512;
