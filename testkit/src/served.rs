//! A server under test, and what must hold when it has ended.

use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corepool_core::{
    Backend, Config, Connection, Handle, Handler, Refusal, Server, Stats, WorkerInfo, start,
};

use crate::harness::SocketBackend;
use crate::peer::{LOOPBACK, Peer};

/// How long a state that must come may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running server, and what its handlers leave behind.
#[derive(Debug)]
pub(crate) struct Served {
    server: Server,
    left: Arc<Left>,
}

/// What is left of handlers: nothing, when the server has ended.
#[derive(Debug, Default)]
struct Left {
    /// Futures that have not been dropped.
    futures: AtomicUsize,
    /// Buffers that were lent out when their worker ended.
    buffers: AtomicUsize,
}

/// A server of so many workers on a free port.
pub(crate) fn config(workers: usize) -> Config {
    Config::new().listen(LOOPBACK).workers(workers)
}

/// Starts a server of this handler on every worker.
pub(crate) fn serve<B: SocketBackend, H: Handler<B> + Clone + Send + Sync>(
    config: &Config,
    handler: H,
) -> Served {
    serve_with::<B, H>(config, move |_worker| handler.clone())
}

/// Starts a server whose handlers a factory makes.
pub(crate) fn serve_with<B: SocketBackend, H: Handler<B>>(
    config: &Config,
    factory: impl Fn(&WorkerInfo) -> H + Send + Sync + 'static,
) -> Served {
    let left: Arc<Left> = Arc::default();
    let leaving = Arc::clone(&left);
    let watched = move |worker: &WorkerInfo| Watched::<B, H> {
        handler: factory(worker),
        left: Arc::clone(&leaving),
        backend: PhantomData,
    };
    let server = start::<B, _>(config, &B::Config::default(), watched).unwrap();
    Served { server, left }
}

impl Served {
    /// The first address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.handle().addresses()[0]
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.address())
    }

    pub(crate) fn handle(&self) -> Handle {
        self.server.handle()
    }

    pub(crate) fn stats(&self) -> Stats {
        self.server.stats()
    }

    /// Waits until the counters say so.
    #[track_caller]
    pub(crate) fn until(&self, reached: impl Fn(&Stats) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !reached(&self.stats()) {
            assert!(Instant::now() < deadline, "not reached: {:?}", self.stats());
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Asks the server to end, and waits for it.
    pub(crate) fn end(self) -> Stats {
        self.handle().shutdown();
        self.join()
    }

    /// Waits for its end: every worker has left, every handler is gone, the counters agree.
    pub(crate) fn join(self) -> Stats {
        let report = self.server.join();
        assert!(report.is_clean(), "{report:?}");
        let Left { futures, buffers } = &*self.left;
        let left = [futures, buffers].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(left, [0, 0], "[futures of handlers, lent buffers] are left behind");
        report.stats.check_laws().unwrap();
        assert_eq!(report.stats.active(), 0);
        report.stats
    }
}

/// A handler whose futures are counted until they are dropped, and its worker's buffers when it is.
struct Watched<B: Backend, H> {
    handler: H,
    left: Arc<Left>,
    backend: PhantomData<B>,
}

impl<B: Backend, H: Handler<B>> Handler<B> for Watched<B, H> {
    async fn serve(&self, connection: Connection<B>) -> io::Result<()> {
        self.left.futures.fetch_add(1, Ordering::SeqCst);
        let _live = Live(&self.left.futures);
        self.handler.serve(connection).await
    }

    async fn refuse(&self, connection: Connection<B>, refusal: Refusal) {
        self.handler.refuse(connection, refusal).await;
    }
}

impl<B: Backend, H> Drop for Watched<B, H> {
    fn drop(&mut self) {
        self.left.buffers.fetch_add(B::lent_buffers(), Ordering::SeqCst);
    }
}

struct Live<'a>(&'a AtomicUsize);

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
