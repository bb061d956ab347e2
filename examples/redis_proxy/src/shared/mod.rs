//! Multiplexed: the requests of many clients over few upstream connections.
//!
//! * [`Shared`]: the upstream connections of one core, and which of them a client uses next.
//! * `link`: one of them, with what is to be sent over it and who is owed which replies.
//! * `driver`: the task that keeps it connected, sends, and deals out what comes back.
//! * `mailbox`: what has come back for one client. `client`: the handler of one. `pieces`: bytes in a queue.
//!
//! A Redis answers in the order of the requests, so who is owed the next reply is the head of a queue, and nothing has to
//! be written on a reply. Whoever leaves stays in the queue until its replies have come, and they are dropped. When a
//! connection dies, everybody in its queue is told so by an error, before another one is asked anything.

mod client;
mod driver;
mod link;
mod mailbox;
mod pieces;

use std::rc::Rc;

use corepool::Backend;

use crate::proxy::Core;
pub(crate) use client::serve;
use link::Link;

/// The upstream connections that all clients of one core share.
pub(crate) struct Shared<B: Backend> {
    links: Vec<Rc<Link<B>>>,
}

impl<B: Backend> Shared<B> {
    /// Begins to connect, on this thread's runtime.
    pub(crate) fn start(core: &Rc<Core<B>>) -> Self {
        let links: Vec<_> =
            (0..core.options.connections).map(|_| Rc::new(Link::new(core.options.window))).collect();
        for link in &links {
            B::spawn_local(driver::drive(Rc::clone(link), Rc::downgrade(core)));
        }
        Self { links }
    }

    /// The connection to ask next: one over which others are just about to send, so that one system call does for all,
    /// or else the one that owes the least; none if none can be had.
    fn choose(&self) -> Option<&Rc<Link<B>>> {
        let links = || self.links.iter().filter(|link| !link.is_down());
        links().find(|link| link.is_gathering()).or_else(|| links().min_by_key(|link| link.load()))
    }
}

impl<B: Backend> Drop for Shared<B> {
    fn drop(&mut self) {
        self.links.iter().for_each(|link| link.close());
    }
}
