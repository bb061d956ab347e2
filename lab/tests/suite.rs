//! `corepool-lab suite` from the outside, made so small that its figures mean
//! nothing.

mod support;

use std::fs;

use support::{errors, lab};

#[test]
fn a_plan_of_a_suite_leaves_its_results_in_every_form() {
    let out = std::env::temp_dir().join(format!("corepool-lab-suite-{}", std::process::id()));
    let folder = out.to_str().unwrap();
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("churn.md"), "of an earlier run").unwrap();
    let small = ["--pairs=2", "--restarts=2", "--slice=0.02", "--only=noise", "--out", folder];
    let output = lab(&[&["suite", "seed"], &small[..]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    for name in ["noise.jsonl", "noise.md", "noise.html", "noise.csv", "README.md"] {
        assert!(fs::metadata(out.join(name)).unwrap().len() > 0, "{name}");
    }
    let index = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(index.contains("](noise.md)") && index.contains("](churn.md)"), "{index}");
    assert!(!index.contains("](payload.md)"), "{index}");
    fs::remove_dir_all(&out).unwrap();
}

#[test]
fn a_dry_run_shows_the_rows_and_what_this_machine_refuses() {
    let output = lab(&["suite", "floors", "--dry-run"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("workers 1\n") && text.contains("min in all"), "{text}");
    let arguments = ["-c", "0", support::LAB, "suite", "floors", "--dry-run"];
    let output = std::process::Command::new("taskset").args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("workers 1 -- refused: "), "{text}");
}

#[test]
fn what_there_is_is_listed_for_who_asks_for_something_else() {
    let output = lab(&["suite", "all"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("runtimes"), "{}", errors(&output));
    let output = lab(&["suite", "seed", "--only=all"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("baseline-one-cpu"), "{}", errors(&output));
}
