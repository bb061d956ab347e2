//! Interrupts of a network card, laid out so that a packet is received on the
//! core whose worker has the connection: a queue for each core, its interrupt
//! on that core, and sending from that core through that queue.

use std::fs;
use std::path::Path;

use serde::Serialize;

use super::facts::text;
use crate::cores::Cores;

/// A network card as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nic {
    /// Its name.
    pub name: String,
    /// What it receives into.
    pub receive_queues: usize,
    /// What it sends from, with the cores that use each, as a mask; a card with
    /// one queue has none.
    pub send_masks: Vec<Option<String>>,
    /// The cores that take packets from the first queue in software, as a mask.
    pub spread_mask: Option<String>,
    /// Its interrupts.
    pub interrupts: Vec<Interrupt>,
}

/// An interrupt of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// The queue that it is for.
    pub queue: usize,
    /// The cores that take it, as a list.
    pub cores: String,
}

/// What to do for a card, and how to take it back; each a line for a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Steps {
    /// The card.
    pub name: String,
    /// What it has.
    pub found: String,
    /// What to do, in this order.
    pub apply: Vec<String>,
    /// How to take it back, in this order.
    pub undo: Vec<String>,
}

impl Steps {
    /// Plans a card for servers on these cores.
    #[must_use]
    pub fn new(nic: &Nic, cores: &Cores, irqbalance: bool) -> Self {
        let queues = nic.receive_queues.min(cores.len());
        let mut steps = Self {
            name: nic.name.clone(),
            found: format!(
                "{} receive and {} send queues, {} interrupts",
                nic.receive_queues,
                nic.send_masks.len(),
                nic.interrupts.len()
            ),
            apply: Vec::new(),
            undo: Vec::new(),
        };
        if irqbalance {
            steps.add("systemctl stop irqbalance".to_owned(), "systemctl start irqbalance".to_owned());
        }
        steps.queues(nic, cores.len());
        for interrupt in &nic.interrupts {
            let core = cores.wrapping(interrupt.queue).unwrap_or(0);
            let path = format!("/proc/irq/{}/smp_affinity_list", interrupt.number);
            steps.write(&path, &core.to_string(), &interrupt.cores);
        }
        for (index, before) in nic.send_masks.iter().enumerate() {
            let path = format!("/sys/class/net/{}/queues/tx-{index}/xps_cpus", nic.name);
            let mask = mask(cores.wrapping(index));
            before.iter().for_each(|before| steps.write(&path, &mask, before));
        }
        if let Some(before) =
            nic.spread_mask.as_ref().filter(|_| queues < cores.len() && nic.receive_queues == 1)
        {
            let path = format!("/sys/class/net/{}/queues/rx-0/rps_cpus", nic.name);
            steps.write(&path, &mask(cores.iter()), before);
        }
        steps.undo.reverse();
        steps
    }

    /// As many queues as there are cores, if the card can; it says so itself if
    /// not.
    fn queues(&mut self, nic: &Nic, cores: usize) {
        if nic.receive_queues != cores && nic.receive_queues > 1 {
            let set = |count: usize| format!("ethtool -L {} combined {count}", nic.name);
            self.add(set(cores), set(nic.receive_queues));
        }
    }

    fn write(&mut self, path: &str, value: &str, before: &str) {
        if value != before {
            self.add(format!("echo {value} > {path}"), format!("echo {before} > {path}"));
        }
    }

    fn add(&mut self, apply: String, undo: String) {
        self.apply.push(apply);
        self.undo.push(undo);
    }
}

/// The cards of this machine: what is not only software.
pub(super) fn read_all() -> Vec<Nic> {
    let names = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut nics: Vec<_> = names
        .filter(|entry| entry.path().join("device").exists())
        .map(|entry| read(&entry.file_name().to_string_lossy(), &entry.path()))
        .collect();
    nics.sort_by(|one, other| one.name.cmp(&other.name));
    nics
}

fn read(name: &str, path: &Path) -> Nic {
    let queues = |kind: &str| {
        let entries = fs::read_dir(path.join("queues")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(kind)).count()
    };
    let of_queue = |queue: String| text(path.join("queues").join(queue));
    Nic {
        name: name.to_owned(),
        receive_queues: queues("rx-"),
        send_masks: (0..queues("tx-")).map(|index| of_queue(format!("tx-{index}/xps_cpus"))).collect(),
        spread_mask: of_queue("rx-0/rps_cpus".to_owned()),
        interrupts: interrupts(name, path),
    }
}

/// Those of the card's queues: all of its own but the ones for configuration.
fn interrupts(name: &str, path: &Path) -> Vec<Interrupt> {
    let device = fs::canonicalize(path.join("device")).ok();
    let device = device.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let table = text("/proc/interrupts").unwrap_or_default();
    let is_ours = |line: &&str| {
        let ours = |word: &str| {
            word.starts_with(name) || device.as_deref().is_some_and(|device| word.starts_with(device))
        };
        line.split_whitespace().any(ours) && !line.contains("config")
    };
    table.lines().filter(is_ours).enumerate().filter_map(|(index, line)| interrupt(index, line)).collect()
}

/// One line of the kernel's table; its name ends with the number of its queue.
fn interrupt(index: usize, line: &str) -> Option<Interrupt> {
    let number = line.trim_start().split(':').next()?.parse().ok()?;
    let name = line.split_whitespace().next_back()?;
    let digits = name.len() - name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let queue = name[name.len() - digits..].parse().unwrap_or(index);
    Some(Interrupt { number, queue, cores: text(format!("/proc/irq/{number}/smp_affinity_list"))? })
}

/// A mask as the kernel writes it: 32 cores to a group, the highest first.
fn mask(cores: impl IntoIterator<Item = usize>) -> String {
    let mut groups = vec![0u32];
    for core in cores {
        groups.resize(groups.len().max(core / 32 + 1), 0);
        groups[core / 32] |= 1 << (core % 32);
    }
    let last = groups.len() - 1;
    let shown = groups.iter().enumerate().rev().map(|(index, group)| match index == last {
        true => format!("{group:x}"),
        false => format!("{group:08x}"),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nic(receive_queues: usize) -> Nic {
        Nic {
            name: "eth0".to_owned(),
            receive_queues,
            send_masks: vec![Some("0".to_owned()); receive_queues],
            spread_mask: Some("0".to_owned()),
            interrupts: (0..receive_queues)
                .map(|queue| Interrupt { number: 40 + queue as u32, queue, cores: "0-3".to_owned() })
                .collect(),
        }
    }

    #[test]
    fn each_queue_gets_a_core_and_everything_can_be_taken_back() {
        let steps = Steps::new(&nic(2), &"0-1".parse().unwrap(), true);
        assert_eq!(
            steps.apply,
            [
                "systemctl stop irqbalance",
                "echo 0 > /proc/irq/40/smp_affinity_list",
                "echo 1 > /proc/irq/41/smp_affinity_list",
                "echo 1 > /sys/class/net/eth0/queues/tx-0/xps_cpus",
                "echo 2 > /sys/class/net/eth0/queues/tx-1/xps_cpus",
            ]
        );
        assert_eq!(steps.undo.len(), steps.apply.len());
        assert_eq!(steps.undo[0], "echo 0 > /sys/class/net/eth0/queues/tx-1/xps_cpus");
        assert_eq!(steps.undo[4], "systemctl start irqbalance");
    }

    #[test]
    fn a_card_with_other_queues_is_asked_for_one_per_core() {
        let steps = Steps::new(&nic(2), &"0-3".parse().unwrap(), false);
        assert_eq!(steps.apply[0], "ethtool -L eth0 combined 4");
        assert_eq!(steps.undo.last().unwrap(), "ethtool -L eth0 combined 2");
    }

    #[test]
    fn a_card_with_one_queue_is_spread_in_software() {
        let steps = Steps::new(&nic(1), &"0-3".parse().unwrap(), false);
        assert_eq!(steps.apply.last().unwrap(), "echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus");
    }

    #[test]
    fn masks_are_written_as_the_kernel_does() {
        assert_eq!(mask([0, 1, 4]), "13");
        assert_eq!(mask([0, 33]), "2,00000001");
    }
}
