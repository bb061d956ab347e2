//! Any server of the user: `corepool-lab ab 'command' 'command'`.

mod support;

use support::{LAB, errors, json, lab};

const TINY: [&str; 6] = ["--pairs=2", "--restarts=2", "--slice=0.02", "--seed=1", "--no-noise", "--json=-"];

fn ab(a: &str, b: &str) -> std::process::Output {
    lab(&[&["ab", a, b], &TINY[..]].concat())
}

#[test]
fn a_command_is_told_its_address_in_its_arguments_or_its_environment() {
    // Its input ends with nobody, as that of a server of the user's.
    let argument = format!("sh -c 'tail -f /dev/null | {LAB} serve epoll --addr={{addr}}'");
    let environment = format!("sh -c 'tail -f /dev/null | {LAB} serve epoll --addr=$LAB_HOST:$LAB_PORT'");
    let output = ab(&argument, &environment);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    assert!(report.to_string().contains("requests_per_second"), "{report}");
}

#[test]
fn a_command_that_ends_or_does_not_listen_is_an_error_that_says_so() {
    let output = ab("epoll", "sh -c 'exit 3'");
    assert_eq!(output.status.code(), Some(1));
    let said = errors(&output);
    assert!(said.contains("has ended before it accepted: the command ended with 3"), "{said}");
}

#[test]
fn nothing_that_a_command_has_started_is_left() {
    let mark = format!("--seed-of-test={}", std::process::id());
    let command =
        format!("sh -c 'sleep 1000 & tail -f /dev/null | {LAB} serve epoll --addr={{addr}}' {mark}");
    let output = ab("epoll", &command);
    assert!(output.status.success(), "{}", errors(&output));
    let left = procfs::process::all_processes().into_iter().flatten().filter_map(Result::ok);
    let marked = |arguments: Vec<String>| arguments.contains(&mark);
    assert_eq!(left.filter(|process| process.cmdline().is_ok_and(marked)).count(), 0);
}
