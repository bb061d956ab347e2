//! A worker whose runtime dies: monoio does not survive a task of the user's that panics. The other workers go on, and
//! everything is accounted for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::panic::resume_unwind;
use std::time::Duration;

use corepool_core::overflow::Queue;
use corepool_core::{Backend, Config, Connection, Handler, Placement, start};
use corepool_monoio::Monoio;

/// Sends everything back; at an exclamation mark, spawns a task that panics.
struct Fragile;

impl<B: Backend> Handler<B> for Fragile {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = connection.recv().await? {
            if chunk.contains(&b'!') {
                B::spawn_local(async { resume_unwind(Box::new("as was wished")) });
            }
            connection.send(chunk).await?;
        }
        Ok(())
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connect");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream
}

fn exchange(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"?")?;
    stream.read_exact(&mut [0])
}

#[test]
fn a_runtime_that_dies_takes_nobody_elses_connections_along() {
    let config = Config::new()
        .listen("127.0.0.1:0")
        .workers(2)
        .limit(2)
        .placement(Placement::Even { slack: 0 })
        .overflow(Queue::new(64, Duration::from_secs(3600)));
    let server = start::<Monoio, _>(&config, &Default::default(), |_worker| Fragile).expect("it starts");
    let address = server.handle().addresses()[0];
    let mut served: Vec<_> = (0..4).map(|_| connect(address)).collect();
    served.iter_mut().for_each(|stream| exchange(stream).expect("served"));
    let waiting: Vec<_> = (0..6).map(|_| connect(address)).collect();
    while server.stats().waiting() < 6 {
        std::thread::yield_now();
    }
    served[0].write_all(b"!").expect("sent");
    while server.stats().active() > 2 {
        std::thread::yield_now();
    }
    // Whoever waits is served by the worker that is left, in turn.
    drop(served);
    std::thread::scope(|scope| {
        for mut stream in waiting {
            // Whichever was accepted first is served first, and leaves.
            scope.spawn(move || exchange(&mut stream).expect("served"));
        }
    });
    server.handle().shutdown();
    let report = server.join();
    assert_eq!((report.panicked.len(), report.stuck.len()), (1, 0), "{report}");
    report.stats.check_laws().expect("the laws hold");
    assert_eq!(report.stats.active() + report.stats.waiting(), 0);
}
