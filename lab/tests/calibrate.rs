//! `corepool-lab calibrate` from the outside, made so small that its figures
//! mean nothing.

mod support;

use std::fs;

use support::{errors, json, lab};

#[test]
fn the_trials_are_counted_and_kept_and_never_run_twice() {
    let file = std::env::temp_dir().join(format!("corepool-lab-calibrate-{}.jsonl", std::process::id()));
    let path = file.to_str().unwrap();
    let small = ["--seconds=2", "--slice=0.02", "--pilot-restarts=3", "--slowdown=100", "--power=0.5"];
    let calibrate =
        |runs: &str| lab(&[&["calibrate", "--json=-", "--results", path, runs], &small[..]].concat());
    let first = calibrate("--runs=1");
    let summary = json(&first);
    assert_eq!(summary["same"]["runs"], 1, "{}", errors(&first));
    assert_eq!(summary["slower"]["runs"], 1);
    assert!(summary["pilot"]["predicted_power"].as_f64().unwrap() > 0.3, "{summary}");
    assert!(summary["slower"]["median_ratio"].as_f64().unwrap() > 1.2, "{summary}");
    let kept = fs::read_to_string(&file).unwrap();
    let second = json(&calibrate("--runs=2"));
    assert!(fs::read_to_string(&file).unwrap().starts_with(&kept));
    assert_eq!(second["trials"].as_array().unwrap().len(), 4);
    assert_eq!(second["trials"][0], summary["trials"][0]);
    let other = lab(&["calibrate", "--results", path, "--seed=2"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(errors(&other).contains("--results"), "{}", errors(&other));
    fs::remove_file(&file).unwrap();
}
