//! The handlers of the framework's servers, with a permit for each connection or for each request.
//!
//! A request is what is received at once, and what is done for it. Its permit goes back when the last reply has begun,
//! so that a client that does not read holds none.

use std::io;

use corepool::{Backend, Chunk, Connection, Handler, Request, Scope};
use corepool_core::backend::LoanOf;

use super::session::{Action, Script, Session};

/// The handler of an echo is written as a user would write it.
pub(super) struct Echo(pub(super) Scope);

impl<B: Backend> Handler<B> for Echo {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        if self.0 == Scope::Request {
            return echo_in_turn(connection).await;
        }
        while let Some(chunk) = connection.recv().await? {
            connection.send(chunk).await?;
        }
        Ok(())
    }
}

async fn echo_in_turn<B: Backend>(mut connection: Connection<B>) -> io::Result<()> {
    while let Some(request) = connection.request().await? {
        let Some(chunk) = connection.recv().await? else { break };
        let sent = connection.send(chunk);
        drop(request);
        sent.await?;
    }
    Ok(())
}

/// The handler of everything else.
pub(super) struct Scripted(pub(super) Script, pub(super) Scope);

impl<B: Backend> Handler<B> for Scripted {
    async fn serve(&self, mut connection: Connection<B>) -> io::Result<()> {
        let mut session = self.0.session();
        let by_request = self.1 == Scope::Request;
        loop {
            let request = if by_request { connection.request().await? } else { None };
            if by_request && request.is_none() {
                return Ok(());
            }
            let Some(chunk) = connection.recv().await? else { return Ok(()) };
            session.receive(&chunk);
            if !answer(&mut connection, &mut session, chunk, request).await? {
                return Ok(());
            }
        }
    }
}

/// Does what the session says; `false` when that is to close.
async fn answer<B: Backend>(
    connection: &mut Connection<B>,
    session: &mut Session,
    chunk: Chunk<LoanOf<B>>,
    mut request: Option<Request<B>>,
) -> io::Result<bool> {
    let mut chunk = Some(chunk);
    let mut next = session.next();
    while let Some(action) = next {
        let sent = match action {
            Action::Echo => chunk.take().map(|chunk| connection.send(chunk)),
            Action::Send(bytes) => Some(connection.send(bytes)),
            Action::Wait(time) => {
                B::sleep(time).await;
                None
            }
            Action::Close => return Ok(false),
        };
        next = session.next();
        if next.is_none() {
            drop(request.take());
        }
        if let Some(sent) = sent {
            sent.await?;
        }
    }
    Ok(true)
}
