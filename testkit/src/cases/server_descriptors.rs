//! A process that runs out of descriptors, and gets some back.

use std::net::TcpStream;
use std::time::Instant;

use socket2::{Domain, Socket, Type};

use crate::handlers::Echo;
use crate::harness::SocketBackend;
use crate::peer::Peer;
use crate::process::exhaust_descriptors;
use crate::served::{config, serve};

pub(super) fn without_descriptors_clients_are_told_and_service_resumes<B: SocketBackend>() {
    let server = serve::<B, _>(&config(2).max_connections(100), Echo);
    // Sockets that need no descriptor any more to connect.
    let sockets = [(); 8].map(|()| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap());
    let exhausted = exhaust_descriptors();
    let begun = Instant::now();
    for socket in &sockets {
        socket.connect(&server.address().into()).unwrap();
    }
    // The descriptor in reserve is enough to tell all of them, or all but one whom a worker takes with it just then.
    server.until(|stats| stats.total(|counts| counts.refused_no_descriptor + counts.started) > 0);
    let errors = server.stats().total(|counts| counts.accept_errors);
    let most = 20 + u64::try_from(begun.elapsed().as_millis()).unwrap() / 5;
    assert!(errors < most, "{errors} failed accepts, more than 200 a second: it spins");
    drop(exhausted);
    let answered = sockets.map(|socket| Peer::from(TcpStream::from(socket)).drips());
    server.connect().exchange(1000);
    let stats = server.end();
    let served = answered.iter().filter(|&&is| is).count() as u64;
    assert_eq!(stats.total(|counts| counts.completed), served + 1);
    assert_eq!(stats.total(|counts| counts.refused_no_descriptor), 8 - served);
}
