//! `corepool-lab compare` from the outside: one result, and the same with a
//! server made slower.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json as value};
use support::{errors, json, lab};

struct Files(PathBuf);

impl Files {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("corepool-lab-compare-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, result: &Value) -> String {
        let path = self.0.join(name);
        fs::write(&path, result.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A real result, with figures that do not depend on this machine: B costs so
/// many times as much as A, give or take a thousandth.
fn result(factor: f64) -> Value {
    let arguments =
        ["ab", "epoll", "tokio-raw", "--pairs=24", "--restarts=6", "--slice=0.01", "--no-noise", "--json=-"];
    let mut result = json(&lab(&arguments));
    for (index, sample) in result["samples"].as_array_mut().unwrap().iter_mut().enumerate() {
        let noise = 1.0 + (index % 5) as f64 * 0.0005;
        for (system, factor) in [(0, 1.0), (1, factor)] {
            let figures = &mut sample["systems"][system];
            figures["server_cpu_us_per_request"] = value!(5.0 * factor * noise);
            figures["requests_per_second"] = value!(100_000.0 / factor * noise);
            figures["p99_us"] = value!(300.0 * noise);
        }
    }
    result
}

#[test]
fn what_got_worse_is_told_and_ends_with_1_and_what_got_better_with_0() {
    let files = Files::new("worse");
    let (old, new) = (files.write("old.json", &result(1.2)), files.write("new.json", &result(1.26)));
    let worse = lab(&["compare", &old, &new, "--json=-"]);
    assert_eq!(worse.status.code(), Some(1), "{}", errors(&worse));
    let findings = |output| {
        let changes = json(output)["changes"].as_array().unwrap().clone();
        changes.iter().map(|change| change["finding"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(findings(&worse), ["worse", "worse", "same"]);
    let better = lab(&["compare", &new, &old, "--json=-"]);
    assert_eq!(better.status.code(), Some(0), "{}", errors(&better));
    assert_eq!(findings(&better), ["better", "better", "same"]);
    let table = lab(&["compare", &old, &new]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("WORSE"));
}

#[test]
fn results_of_something_else_cannot_be_compared() {
    let files = Files::new("else");
    let old = result(1.0);
    let mut new = old.clone();
    new["environment"]["plan"]["servers"]["workers"] = value!(7);
    let output = lab(&["compare", &files.write("old.json", &old), &files.write("new.json", &new)]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("no measured row in common"), "{}", errors(&output));
}
