//! `corepool-lab doctor` from the outside.

mod support;

use support::{errors, json, lab};

#[test]
fn it_ends_with_0_or_2_and_says_why() {
    let output = lab(&["doctor", "--json=-"]);
    let diagnosis = json(&output);
    let checks = diagnosis["checks"].as_array().unwrap();
    let bad: Vec<_> = checks.iter().filter(|check| check["state"] == "bad").collect();
    let expected = if bad.is_empty() { 0 } else { 2 };
    assert_eq!(output.status.code(), Some(expected), "{bad:?} {}", errors(&output));
    for about in
        ["io_uring", "locked memory", "open descriptors", "net.core.somaxconn", "connection tracking"]
    {
        assert!(checks.iter().any(|check| check["about"] == about), "{about}: {diagnosis}");
    }
}

#[test]
fn a_machine_of_one_core_is_not_fit() {
    let output =
        std::process::Command::new("taskset").args(["-c", "0", support::LAB, "doctor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("BAD       cores"));
}
