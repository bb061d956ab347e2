//! The surroundings of an exchange in a model: gates, and mailboxes that are plain queues.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use loom::sync::Mutex;

use crate::admission::{Exchange, Fate, Gates, Place, Ports, Waiter};

/// An exchange, and what has become of everybody.
#[derive(Clone)]
pub(super) struct World(Arc<Exchange<u32, Model>>);

/// What stands in for the server.
struct Model {
    gates: Gates,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Who is in each mailbox.
    delivered: Vec<(usize, u32)>,
    fates: HashMap<u32, Fate>,
}

impl World {
    pub(super) fn new(workers: usize, limit: u32) -> Self {
        let model = Model { gates: Gates::new(workers, limit), state: Mutex::default() };
        Self(Arc::new(Exchange::new(8, 0..workers, false, model)))
    }

    pub(super) fn take(&self, worker: usize) -> bool {
        self.0.ports().gates.gate(worker).try_take()
    }

    pub(super) fn release(&self, worker: usize) {
        self.0.release(worker);
    }

    /// Lines somebody up, who must be let in.
    pub(super) fn park(&self, home: usize, who: u32) {
        let waiter = Waiter::new(Place::Queued, home, Instant::now(), None, who);
        assert!(self.0.park(waiter, home).is_ok());
    }

    /// Serves whoever has been delivered, and checks that nothing is left.
    pub(super) fn finish<const COUNT: usize>(&self, everybody: [u32; COUNT]) {
        let mut served = Vec::new();
        loop {
            let next = self.0.ports().state.lock().unwrap().delivered.pop();
            let Some((worker, who)) = next else { break };
            served.push(who);
            self.0.release(worker);
        }
        let model = self.0.ports();
        for who in everybody {
            let was_served = served.iter().filter(|&&other| other == who).count();
            let was_refused = usize::from(model.state.lock().unwrap().fates.contains_key(&who));
            assert_eq!(was_served + was_refused, 1, "{who} has not had exactly one fate");
        }
        for worker in 0..model.gates.len() {
            let gate = model.gates.gate(worker);
            assert!(
                gate.taken() == 0 && (!gate.is_open() || gate.try_close()),
                "something is left: {gate:?}"
            );
        }
    }
}

impl Ports<u32> for Model {
    fn gates(&self) -> &Gates {
        &self.gates
    }

    fn serves_expired(&self) -> bool {
        false
    }

    fn lined_up(&self, _waiter: &Waiter<u32>) {}

    fn granted(&self, _waiter: &Waiter<u32>, _worker: usize, _over: bool) {}

    fn turned_away(&self, waiter: &Waiter<u32>, fate: Fate) {
        let before = self.state.lock().unwrap().fates.insert(waiter.item, fate);
        assert_eq!(before, None, "two fates");
    }

    fn came_back(&self, _waiter: &Waiter<u32>, _worker: usize) {}

    fn deliver(&self, waiter: Waiter<u32>, worker: usize) -> Result<(), Waiter<u32>> {
        self.state.lock().unwrap().delivered.push((worker, waiter.item));
        Ok(())
    }

    fn call(&self, _worker: usize) {}

    fn dismiss(&self, _waiter: Waiter<u32>, _fate: Fate) {}
}
