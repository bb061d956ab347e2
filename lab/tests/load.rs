//! `corepool-lab load` from the outside.

mod support;

use support::{echo, errors, json, lab, replying};

#[test]
fn a_good_server_gives_figures_and_no_errors() {
    let address = echo().to_string();
    let output = lab(&["load", &address, "--conns=8", "--seconds=0.2", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    assert_eq!(report["errors"], 0);
    for key in ["requests_per_second", "client_cpu_us_per_request", "p50_us", "p99_us"] {
        assert!(report[key].as_f64().unwrap() > 0.0, "{key}: {report}");
    }
}

#[test]
fn the_table_shows_what_was_asked_for() {
    let address = echo().to_string();
    let output = lab(&["load", &address, "--conns=3", "--seconds=0.1", "--threads=2"]);
    let table = String::from_utf8(output.stdout).unwrap();
    for text in ["3 connections x 512 B on 2 threads", "requests/s", &address] {
        assert!(table.contains(text), "{text}: {table}");
    }
}

#[test]
fn wrong_bytes_fail_the_run() {
    let address = replying(|_, bytes| Some(vec![0; bytes.len()])).to_string();
    let output = lab(&["load", &address, "--conns=4", "--seconds=0.1", "--json=-"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(json(&output)["faults"]["wrong_bytes"], 4);
    assert!(errors(&output).contains("reply with wrong bytes"), "{}", errors(&output));
}

#[test]
fn a_server_that_is_not_there_fails_the_run() {
    let output = lab(&["load", "127.0.0.1:1", "--conns=2", "--seconds=60"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("cannot connect"), "{}", errors(&output));
}

#[test]
fn a_server_that_goes_away_fails_the_run() {
    let address = replying(|earlier, bytes| (earlier < 9).then(|| bytes.to_vec())).to_string();
    let output = lab(&["load", &address, "--conns=2", "--seconds=0.1", "--json=-"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(report["requests"], 18);
    assert_eq!(report["errors"], 2);
}

#[test]
fn the_highest_rate_that_keeps_a_promise_is_found() {
    let address = echo().to_string();
    let output = lab(&["load", &address, "--conns=4", "--slo=p99=50ms", "--seconds=0.1", "--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let report = json(&output);
    let highest = report["highest_rate"].as_f64().unwrap();
    let steps = report["steps"].as_array().unwrap();
    let kept = |rate: f64| steps.iter().any(|step| step["rate"] == rate && step["kept"] == true);
    assert!(kept(highest), "{report}");
    let broken = steps.iter().filter(|step| step["kept"] == false);
    assert!(broken.map(|step| step["rate"].as_f64().unwrap()).all(|rate| rate > highest), "{report}");
    assert_eq!(report["slo"], "p99=50000us");
}

#[test]
fn a_promise_that_cannot_be_tried_is_refused() {
    for (arguments, said) in [
        (["--slo=p99", "--seconds=1"], "p99=2ms"),
        (["--slo=p99=2ms", "--workload=churn"], "the workload churn has no rate"),
        (["--slo=p99=2ms", "--rate=100"], "rate is given"),
    ] {
        let output = lab(&[&["load", "127.0.0.1:1"][..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(said), "{arguments:?}: {}", errors(&output));
    }
}

#[test]
fn a_server_that_closes_connections_keeps_no_promise() {
    let address = replying(|earlier, bytes| (earlier < 3).then(|| bytes.to_vec())).to_string();
    let output = lab(&["load", &address, "--conns=2", "--slo=p99=1s", "--seconds=0.1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("lost request"), "{}", errors(&output));
}
