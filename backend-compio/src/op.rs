//! The operations that compio lacks.
//!
//! * [`Receive`]: a receive that reports to an inbox.
//! * [`Withdraw`]: ends what is in flight on a descriptor. compio's own ways drop what comes too late to be
//!   stopped, are forgotten when the ring is full (`Proactor::cancel`), or do nothing in an optimised build
//!   (`with_cancel`).
//! * [`sleep`]: a timer in the kernel. compio's timers cost two readings of the clock and an allocation in each turn
//!   of the loop for as long as there is one, and a worker always has one.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use compio::driver::{Extra, OpCode, OpEntry};
use compio::runtime::submit;
use corepool_core::buffer::Buffer;
use io_uring::opcode;
use io_uring::types::{CancelBuilder, Fd, Timespec};

use crate::inbox::{Found, Inbox};
use crate::withdraw::is_withdrawn;

/// A receive into a buffer of its own.
pub(crate) struct Receive {
    socket: Rc<OwnedFd>,
    /// `None` when it has been delivered.
    buffer: Option<Buffer>,
    inbox: Rc<Inbox>,
}

impl Receive {
    /// A receive that will deliver to `inbox`, also if it is dropped.
    pub(crate) fn new(socket: &Rc<OwnedFd>, buffer: Buffer, inbox: &Rc<Inbox>) -> Self {
        inbox.expect();
        Self { socket: Rc::clone(socket), buffer: Some(buffer), inbox: Rc::clone(inbox) }
    }
}

// SAFETY: the entry points to the memory of a buffer that the operation owns, and that compio keeps with it until
// the operation has completed. Only `set_result` takes the buffer out, which is called on completion.
unsafe impl OpCode for Receive {
    type Control = ();

    fn create_entry(&mut self, (): &mut ()) -> OpEntry {
        let space = self.buffer.as_mut().map(Buffer::spare_mut).unwrap_or_default();
        let length = u32::try_from(space.len()).unwrap_or(u32::MAX);
        opcode::Recv::new(fd(&self.socket), space.as_mut_ptr(), length).build().into()
    }

    fn call_blocking(&mut self, (): &mut ()) -> io::Result<usize> {
        Err(no_probe())
    }

    unsafe fn set_result(&mut self, (): &mut (), result: &io::Result<usize>, _: &Extra) {
        self.inbox.deliver(match (result, self.buffer.take()) {
            (Ok(count @ 1..), Some(mut buffer)) => {
                buffer.advance(*count);
                Found::Bytes(buffer)
            }
            (Ok(_), _) => Found::End,
            (Err(error), _) if is_withdrawn(error) => Found::Nothing,
            (Err(error), _) => Found::Error(copy(error)),
        });
    }
}

/// Ends every operation in flight on a descriptor; each of them completes, with `ECANCELED` or with what it has
/// achieved. Operations that are submitted later are left alone. The result is how many were found.
///
/// The kernel looks through everything that is in flight in the ring, so this is not for every message.
pub(crate) struct Withdraw<S>(pub(crate) Rc<S>);

// SAFETY: the entry points to no memory.
unsafe impl<S: AsFd> OpCode for Withdraw<S> {
    type Control = ();

    fn create_entry(&mut self, (): &mut ()) -> OpEntry {
        opcode::AsyncCancel2::new(CancelBuilder::fd(fd(&self.0)).all()).build().into()
    }

    fn call_blocking(&mut self, (): &mut ()) -> io::Result<usize> {
        Err(no_probe())
    }
}

/// A timer; it completes with `ETIME`.
pub(crate) struct Timer {
    deadline: Instant,
    /// What is left when it is submitted; the kernel reads it here.
    left: Timespec,
}

impl Timer {
    pub(crate) fn after(duration: Duration) -> Self {
        Self { deadline: Instant::now() + duration.min(LONGEST), left: Timespec::new() }
    }
}

/// 136 years. The kernel refuses times that it cannot count in nanoseconds.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

// SAFETY: the entry points to a field of the operation itself, which compio keeps at its place on the heap until the
// operation has completed.
unsafe impl OpCode for Timer {
    type Control = ();

    fn create_entry(&mut self, (): &mut ()) -> OpEntry {
        self.left = self.deadline.saturating_duration_since(Instant::now()).into();
        opcode::Timeout::new(&raw const self.left).build().into()
    }

    fn call_blocking(&mut self, (): &mut ()) -> io::Result<usize> {
        Err(no_probe())
    }
}

/// Sleeps. The time runs from the call, not from the first poll.
pub(crate) fn sleep(duration: Duration) -> impl Future<Output = ()> + 'static {
    let timer = Timer::after(duration);
    async move {
        let _ = submit(timer).await;
    }
}

fn fd(descriptor: &impl AsFd) -> Fd {
    Fd(descriptor.as_fd().as_raw_fd())
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Why compio believes that the kernel has none of its operations, and would run them in threads: it asks a second,
/// small ring, once for the process, and could not set that up.
fn no_probe() -> io::Error {
    io_uring::IoUring::new(2).err().unwrap_or_else(|| io::ErrorKind::Unsupported.into())
}
