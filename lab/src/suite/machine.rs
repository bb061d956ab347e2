//! What a suite needs to know of the machine.

use crate::cores::Cores;
use crate::environment::Machine;

/// How many cores the servers can have beside as many for the clients; at least
/// one.
#[must_use]
pub fn server_cores(cores: &Cores) -> usize {
    (cores.len() / 2).max(1)
}

/// A name for the folder of this machine's results: its processor and its cores.
#[must_use]
pub fn folder(machine: &Machine) -> String {
    let cpu = machine.cpu.to_lowercase();
    let words = cpu.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<_> = words.filter(|word| !NOISE.contains(word)).take(WORDS_MAX).collect();
    format!("{}-{}-cores", words.join("-"), machine.cores.len())
}

/// What vendors write around the name.
const NOISE: [&str; 5] = ["r", "tm", "cpu", "processor", "with"];
const WORDS_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cores_are_for_the_servers() {
        let cores = |count: usize| (0..count).collect::<Cores>();
        assert_eq!([1, 2, 3, 16].map(|count| server_cores(&cores(count))), [1, 1, 1, 8]);
    }

    #[test]
    fn a_machine_has_a_name_that_can_be_a_folder() {
        let mut machine = Machine::look();
        machine.cores = (0..16).collect();
        for (cpu, name) in [
            ("AMD EPYC", "amd-epyc-16-cores"),
            ("Intel(R) Xeon(R) CPU @ 2.10GHz", "intel-xeon-2-10ghz-16-cores"),
            ("AMD Ryzen 9 5900X 12-Core Processor", "amd-ryzen-9-5900x-12-16-cores"),
        ] {
            cpu.clone_into(&mut machine.cpu);
            assert_eq!(folder(&machine), name);
        }
    }
}
