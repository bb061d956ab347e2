//! `tokio`, `compio`, `monoio`: the framework with one and the same handler, on the backend of that name.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread;

use corepool::{Backend, Config, Connection, Handler, Server};

use super::{ServeOptions, Stop};

struct Echo;

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        while let Some(chunk) = connection.recv().await? {
            connection.send(chunk).await?;
        }
        Ok(())
    }
}

/// Starts the framework on `backend`, which must run on `driver`.
pub(super) fn start(
    options: &ServeOptions,
    stop: &Sender<Stop>,
    backend: &'static str,
    driver: &str,
) -> io::Result<Vec<SocketAddr>> {
    let server = Server::new().config(config(options)).backend(backend).start(|_worker| Echo);
    let server = server.map_err(io::Error::other)?;
    let stats = server.stats();
    if stats.driver != driver {
        return Err(io::Error::other(format!("{backend} runs on {} instead of {driver}", stats.driver)));
    }
    let stop = stop.clone();
    thread::Builder::new().name("framework".to_owned()).spawn(move || {
        let report = server.join();
        // Nobody listens any more when the process is already ending.
        let _ = stop.send(Stop::Failed(format!("it ended by itself: {report}")));
    })?;
    Ok(stats.addresses)
}

fn config(options: &ServeOptions) -> Config {
    let mut config = Config::new().listen(options.address);
    config = match options.cores.is_empty() {
        true => config.workers(options.workers).pin(false),
        false => config.cores(
            (0..options.workers).filter_map(|worker| options.cores.wrapping(worker)).collect::<Vec<_>>(),
        ),
    };
    config = options.limit.into_iter().fold(config, Config::limit);
    options.placement.into_iter().fold(config, Config::placement)
}
