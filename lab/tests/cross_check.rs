//! `cross-check` from outside. Debian's `wrk`; what needs it is skipped, with a notice, where it is not installed.
#![forbid(unsafe_code)]

mod support;

use std::process::Command;

use support::{errors, json, lab};

#[test]
fn both_generators_load_the_same_server() {
    if Command::new("wrk").arg("--version").output().is_err() {
        println!("SKIPPED: wrk is not installed, so the lab's rates were compared with nobody's");
        return;
    }
    let output = lab(&["cross-check", "--system", "epoll", "--restarts", "2", "--pairs", "1", "--json", "-"]);
    // Whether they agree depends on how busy the machine is; that both have seen a rate does not.
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", errors(&output));
    let check = json(&output);
    assert_eq!(check["pairs"], 2);
    for generator in ["lab", "wrk"] {
        assert!(check[generator]["rate"].as_f64().unwrap() > 0.0, "{check}");
        assert!(check[generator]["server_busy"].as_f64().unwrap() > 0.0, "{check}");
    }
}

#[test]
fn a_server_that_does_not_exist_is_told() {
    let output = lab(&["cross-check", "--system", "nobody"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(errors(&output).contains("nobody"), "{}", errors(&output));
}
