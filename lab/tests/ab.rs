//! `corepool-lab ab` from the outside: what it prints, and how it fails.

mod support;

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use procfs::process::Process;
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use support::{LAB, errors, json, lab, serving_child};

/// A run of a quarter of a second.
const TINY: [&str; 5] = ["--pairs=4", "--restarts=2", "--slice=0.02", "--seed=1", "--no-noise"];

fn ab(a: &str, b: &str, more: &[&str]) -> std::process::Output {
    lab(&[&["ab", a, b], &TINY[..], more].concat())
}

#[test]
fn the_json_has_every_key() {
    let output = ab("epoll", "tokio-raw", &["--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    for (side, name) in [("a", "epoll"), ("b", "tokio-raw")] {
        let side = &report[side];
        assert_eq!(side["name"], name);
        assert_eq!(side["driver"], "epoll");
        assert_eq!(side["errors"], 0);
        for key in [
            "requests_per_second",
            "server_cpu_us_per_request",
            "client_cpu_us_per_request",
            "p50_us",
            "p99_us",
            "p999_us",
        ] {
            assert!(side[key].as_f64().unwrap() > 0.0, "{key}: {side}");
        }
        assert!(side["context_switches_per_request"].is_f64(), "{side}");
    }
    for key in ["requests_per_second", "server_cpu_us_per_request", "p99_us"] {
        if report["ratios"][key]["finding"] == "clients-are-the-limit" {
            continue;
        }
        let ratio = &report["ratios"][key];
        let value = |key: &str| ratio[key].as_f64().unwrap();
        assert!(value("low") <= value("median"), "{ratio}");
        assert!(value("median") <= value("high"), "{ratio}");
        assert!(ratio["verdict"].is_string(), "{ratio}");
    }
    let environment = &report["environment"];
    for key in ["cpu", "kernel", "versions", "placement", "seed", "plan", "cores"] {
        assert!(!environment[key].is_null(), "{key}: {environment}");
    }
}

#[test]
fn more_than_two_servers_are_each_compared_with_the_first() {
    let output = ab("epoll", "epoll", &["tokio-raw", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    let comparisons = report["comparisons"].as_array().unwrap();
    let compared: Vec<_> = comparisons.iter().map(|one| (&one["system"], &one["with"])).collect();
    assert_eq!(compared, [(&json!("epoll"), &json!("epoll")), (&json!("tokio-raw"), &json!("epoll"))]);
    let samples = report["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 4);
    assert!(samples.iter().all(|sample| sample["systems"].as_array().unwrap().len() == 3));
}

#[test]
fn the_first_server_is_run_against_itself_before() {
    let arguments = ["ab", "epoll", "tokio-raw", "--pairs=4", "--restarts=2", "--slice=0.02", "--json=-"];
    let report = json(&lab(&arguments));
    let noise = &report["noise"]["server_cpu_us_per_request"];
    assert_eq!(noise["pairs"], 4, "{noise}");
    assert!(noise["low"].as_f64().unwrap() < 1.5, "{noise}");
}

#[test]
fn a_run_until_its_interval_is_narrow_stops_when_its_budget_is_spent() {
    let arguments =
        ["--until=0.01%", "--budget=3", "--pairs=2", "--restarts=2", "--slice=0.01", "--no-noise"];
    let output = lab(&[&["ab", "epoll", "epoll", "--json=-"], &arguments[..]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    assert_eq!(report["environment"]["plan"]["statistics"]["until"], "0.01%");
    assert!(report["samples"].as_array().unwrap().len() > 2, "it stopped with its first pairs");
}

#[test]
fn a_run_until_its_interval_is_narrow_stops_when_it_is() {
    let output = ab("epoll", "epoll", &["--until=100%", "--budget=600", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn every_server_can_be_compared_and_names_its_driver() {
    let servers = [
        ("tokio", "epoll"),
        ("compio", "io_uring"),
        ("monoio", "io_uring"),
        ("tokio-raw", "epoll"),
        ("monoio-raw", "io_uring"),
        ("compio-raw", "io_uring"),
        ("compio-raw-managed", "io_uring"),
        ("compio-raw-multishot", "io_uring"),
        ("compio-raw-owned", "io_uring"),
    ];
    for (name, driver) in servers {
        for more in [
            ["--bytes=512", "--workers=1", "--where=split"],
            ["--bytes=300000", "--workers=2", "--where=shared"],
        ] {
            let output = ab("epoll", name, &[&more[..], &["--json=-"]].concat());
            assert!(output.status.success(), "{name}: {}", errors(&output));
            assert_eq!(json(&output)["b"]["driver"], driver, "{name}");
        }
    }
}

#[test]
fn more_messages_at_once_than_the_buffer_pool_has_buffers_lose_none() {
    for name in ["compio-raw-managed", "compio-raw-multishot"] {
        let output = ab("epoll", name, &["--conns=600"]);
        assert!(output.status.success(), "{name}: {}", errors(&output));
    }
}

#[test]
fn connections_that_are_opened_for_each_request_lose_none() {
    let output = ab("epoll", "compio-raw", &["--requests-per-connection=1"]);
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn connections_that_are_used_up_leave_their_room_to_those_that_wait() {
    let output = ab("tokio", "monoio", &["--requests-per-connection=1", "--conns=5", "--limit=1"]);
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn the_table_names_what_was_compared_and_the_file_gets_the_json() {
    let path = std::env::temp_dir().join(format!("corepool-lab-ab-{}.json", std::process::id()));
    let output = ab("epoll", "epoll", &["--json", path.to_str().unwrap()]);
    let report: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(report["a"]["name"], "epoll");
    let table = String::from_utf8(output.stdout).unwrap();
    for text in ["A = epoll (epoll)", "requests/s", "p99.9", "verdict", "seed 1"] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

#[test]
fn servers_of_the_lab_may_have_options_of_their_own() {
    let (a, b) = ("tokio --limit=2 --scope=request", "tokio --scope request --admission adaptive:1..64");
    let output = ab(a, b, &["--limit=4", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    assert_eq!((&report["a"]["name"], &report["b"]["name"]), (&json!(a), &json!(b)));
    assert_eq!(report["b"]["driver"], "epoll");
    let output = ab("tokio", "tokio --limit=none", &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("--limit"), "{}", errors(&output));
}

#[test]
fn clients_on_the_core_of_the_server_are_told_loudly() {
    let output = ab("epoll", "epoll", &["--server-cores=0", "--client-cores=0"]);
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("SHARED: CLIENTS RUN ON THE SERVER'S CORES"), "{table}");
}

#[test]
fn what_cannot_be_done_is_named_and_ends_with_2() {
    for (arguments, said) in [
        (vec!["ab", "epoll", "nginx"], "there is no server `nginx`"),
        (vec!["ab", "epoll", "epoll", "--conns=0"], "connections is 0, but must be from 1"),
        (vec!["ab", "epoll", "epoll", "--slice=x"], "--slice"),
        (vec!["ab", "epoll", "epoll", "--client-cores=999"], "--client-cores names core 999"),
        (vec!["ab", "epoll", "epoll", "--json=/no/such/file"], "--json /no/such/file"),
        (vec!["ab", "epoll"], "the number of servers is 1"),
        (vec!["ab", "--a=epoll"], "--b"),
        (vec!["load", "127.0.0.1:1", "--seconds=0"], "--seconds is 0"),
        (vec!["serve", "epoll", "--workers=1000"], "--workers is 1000"),
        (vec!["serve", "nginx"], "compio-raw-multishot"),
        (vec!["serve", "epoll", "--placement=near"], "always-other"),
        (vec!["serve", "epoll", "--scope=client"], "connection and request are"),
        (vec!["serve", "epoll", "--admission=adaptive:9..8"], "adaptive:LEAST..MOST"),
    ] {
        let output = lab(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(said), "{arguments:?}: {}", errors(&output));
    }
}

#[test]
fn a_server_that_dies_in_the_middle_is_named_and_ends_with_1() {
    let mut run = Command::new(LAB)
        .args(["ab", "epoll", "tokio-raw", "--pairs=10000", "--slice=0.02"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let victim = serving_child(run.id(), "tokio-raw");
    kill_process(victim, Signal::KILL).unwrap();
    let mut said = String::new();
    run.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(1), "{said}");
    assert!(said.contains("server tokio-raw ended in the middle of the run"), "{said}");
    assert!(said.contains("signal: 9"), "{said}");
}

#[test]
fn no_server_outlives_a_lab_that_is_killed() {
    let mut run = Command::new(LAB).args(["ab", "epoll", "tokio-raw", "--pairs=10000"]).spawn().unwrap();
    let server = serving_child(run.id(), "tokio-raw").as_raw_nonzero().get();
    run.kill().unwrap();
    run.wait().unwrap();
    // Ended for good, or waiting for its new parent to take notice.
    while Process::new(server).and_then(|server| server.stat()).is_ok_and(|stat| stat.state != 'Z') {
        std::thread::yield_now();
    }
}

#[test]
fn the_highest_rate_of_each_server_is_found_if_it_is_asked_for() {
    let output = ab("epoll", "uring", &["--slo=p50=1s", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    for capacity in [&report["a"]["capacity"], &report["b"]["capacity"]] {
        assert_eq!(capacity["slo"], "p50=1000000us");
        assert!(!capacity["steps"].as_array().unwrap().is_empty(), "{capacity}");
    }
}
