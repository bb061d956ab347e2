//! What a client sends, made ready to be passed on over a connection of its own: how many replies it will have, and
//! where it has to stop.

use corepool::backend::{LoanOf, SendBuf};
use corepool::buffer::Buffer;
use corepool::{Backend, Chunk};

use crate::answers::Cut;
use crate::assembler::Assembler;
use crate::command::{Commands, Kind};
use crate::resp::Limits;

/// Requests that can be passed on in one go.
pub(crate) struct Batch<B: Backend> {
    pub(crate) bytes: Option<SendBuf<LoanOf<B>>>,
    /// How many replies they will have.
    pub(crate) replies: u64,
    pub(crate) then: Then,
}

/// What follows after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// More of the same.
    More,
    /// The connection is bound to the client from here on.
    Bind,
    /// The client has said goodbye.
    Quit,
    /// The client is cut off.
    Cut(Cut),
}

/// One client's requests.
pub(crate) struct Intake {
    commands: Commands,
    assembler: Assembler,
}

impl Intake {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { commands: Commands::new(limits), assembler: Assembler::default() }
    }

    /// Whether a part of a request has been passed on, and its end has not.
    pub(crate) fn is_midway(&self) -> bool {
        self.assembler.is_midway()
    }

    pub(crate) fn take<B: Backend>(
        &mut self,
        chunk: Chunk<LoanOf<B>>,
        buffer: impl Fn() -> Buffer,
    ) -> Batch<B> {
        let (mut at, mut end, mut replies) = (0, 0, 0);
        let then = loop {
            match self.commands.next(&chunk, &mut at) {
                Ok(Some(command)) => match command.kind {
                    Kind::Plain => (end, replies) = (command.end, replies + 1),
                    Kind::Nothing => end = command.end,
                    Kind::Binding => break Then::Bind,
                    Kind::Quit => break Then::Quit,
                    Kind::Forbidden => break Then::Cut(Cut::Forbidden),
                },
                Ok(None) => break Then::More,
                Err(malformed) => break Then::Cut(malformed.into()),
            }
        };
        let bytes = match then {
            Then::More => self.assembler.take(chunk, end, self.commands.is_between(), buffer),
            Then::Bind => Some(self.assembler.everything(chunk)),
            Then::Quit | Then::Cut(_) => self.assembler.complete(&chunk, end, buffer),
        };
        Batch { bytes, replies, then }
    }
}
