//! `corepool-lab run` and `report` from the outside: plans, interruptions, bad
//! input, and every form of output.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use support::{LAB, errors, json, lab, serving_child};

/// A folder of its own for a plan and its results; gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, plan: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("corepool-lab-run-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("plan.toml"), plan).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn run(&self, more: &[&str]) -> std::process::Output {
        lab(&[&["run", &self.path("plan.toml")], more].concat())
    }

    /// The results that have been kept, without the line of the heading.
    fn records(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("plan.jsonl")).unwrap_or_default();
        text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Rows of a quarter of a second.
fn plan(systems: &str, more: &str) -> String {
    format!(
        "title = \"A <small> one\"\nsystems = [{systems}]\n[statistics]\npairs = 4\nrestarts = 2\n\
         slice_seconds = 0.02\nnoise = false\n{more}"
    )
}

const TWO: &str = r#""epoll", "tokio-raw""#;
const SWEEP: &str = "[sweep]\nworkload.bytes = [64, 512, 4096]\n";

#[test]
fn every_row_is_measured_and_kept() {
    let folder = Folder::new("kept", &plan(TWO, SWEEP));
    let output = folder.run(&["--json=-"]);
    assert!(output.status.success(), "{}", errors(&output));
    let results = json(&output);
    let records = results["records"].as_array().unwrap();
    let bytes: Vec<_> = records.iter().map(|record| record["varied"][0]["value"].clone()).collect();
    assert_eq!(bytes, ["64", "512", "4096"]);
    for record in records {
        let ratio = &record["ending"]["measured"]["comparisons"][0]["ratios"]["server_cpu_us_per_request"];
        assert!(ratio["median"].as_f64().unwrap() > 0.0, "{ratio}");
    }
    assert_eq!(&folder.records(), records);
}

#[test]
fn a_finished_row_is_never_run_again_unless_asked_for() {
    let folder = Folder::new("again", &plan(TWO, SWEEP));
    assert!(folder.run(&[]).status.success());
    let first = folder.records();
    assert!(folder.run(&[]).status.success());
    assert_eq!(folder.records(), first);
    assert!(folder.run(&["--fresh"]).status.success());
    assert_eq!(folder.records().len(), 3);
    assert_ne!(folder.records(), first);
}

#[test]
fn what_was_finished_before_an_interruption_stays() {
    let folder = Folder::new("interrupted", &plan(TWO, SWEEP));
    let mut run = Command::new(LAB)
        .args(["run", &folder.path("plan.toml")])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while folder.records().is_empty() {
        thread::yield_now();
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let before = folder.records();
    let output = folder.run(&[]);
    assert!(output.status.success(), "{}", errors(&output));
    let after = folder.records();
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.len(), 3);
}

#[test]
fn a_server_that_dies_costs_its_row_and_the_others_are_kept() {
    let more =
        "[[case]]\nstatistics.pairs = 4\n[[case]]\nstatistics.pairs = 10000\n[[case]]\nstatistics.pairs = 6";
    let folder = Folder::new("dies", &plan(TWO, more));
    let run = Command::new(LAB)
        .args(["run", &folder.path("plan.toml"), "--json=-"])
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    while folder.records().is_empty() {
        thread::yield_now();
    }
    kill_process(serving_child(run.id(), "tokio-raw"), Signal::KILL).unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = errors(&output);
    assert!(said.contains("server tokio-raw ended in the middle of the run"), "{said}");
    let endings: Vec<_> = folder.records().iter().map(|record| record["ending"].clone()).collect();
    assert!(endings[0]["measured"].is_object() && endings[2]["measured"].is_object());
    assert!(endings[1]["failed"].as_str().unwrap().contains("signal: 9"), "{}", endings[1]);
}

#[test]
fn a_server_that_cannot_be_reached_costs_its_row() {
    let folder = Folder::new("unreachable", &plan(r#""epoll", "sh -c 'exit 3'""#, ""));
    let output = folder.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).contains("has ended before it accepted"), "{}", errors(&output));
    assert!(folder.records()[0]["ending"]["failed"].is_string());
}

#[test]
fn wrong_bytes_make_a_row_that_failed_and_has_no_ratio() {
    let wrong = format!(
        r#""epoll", "sh -c 'tail -f /dev/null | {LAB} serve epoll --service=http:100 --addr={{addr}}'""#
    );
    let folder = Folder::new("wrong", &plan(&wrong, ""));
    let output = folder.run(&["--json=-"]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let row = &json(&output)["records"][0]["ending"]["measured"];
    assert!(row["failure"].as_str().unwrap().contains("lost request"), "{row}");
    let ratio = &row["comparisons"][0]["ratios"]["server_cpu_us_per_request"];
    assert_eq!(ratio["finding"], "failed", "{ratio}");
    assert!(ratio["median"].is_null(), "{ratio}");
}

#[test]
fn an_unknown_key_ends_with_2_before_anything_is_run() {
    for (more, key) in [
        ("colour = 1", "colour"),
        ("[servers]\nwrokers = 1", "wrokers"),
        ("[sweep]\nworkload.size = [1]", "size"),
    ] {
        let folder = Folder::new(&format!("key-{key}"), &plan(TWO, more));
        let output = folder.run(&[]);
        assert_eq!(output.status.code(), Some(2), "{more}");
        let said = errors(&output);
        assert!(said.contains(&format!("unknown field `{key}`")) && said.contains("plan.toml"), "{said}");
        assert!(!PathBuf::from(folder.path("plan.jsonl")).exists());
    }
}

#[test]
fn a_row_that_this_machine_cannot_run_is_refused_with_the_reason() {
    let more = "[[case]]\nservers.workers = 1\n[[case]]\nplacement.server_cores = [1000]";
    let folder = Folder::new("refused", &plan(TWO, more));
    let output = folder.run(&[]);
    assert!(output.status.success(), "{}", errors(&output));
    let refused = folder.records()[1]["ending"]["refused"].as_str().unwrap().to_owned();
    assert!(refused.contains("names core 1000"), "{refused}");
}

#[test]
fn results_can_be_shown_again_in_every_form() {
    let folder = Folder::new("forms", &plan(TWO, SWEEP));
    assert!(folder.run(&[]).status.success());
    let [csv, markdown, html] = ["out.csv", "out.md", "out.html"].map(|name| folder.path(name));
    let (kept, whole) = (folder.path("plan.jsonl"), folder.path("out.json"));
    let forms = ["--csv", &csv, "--markdown", &markdown, "--html", &html, "--json", &whole];
    let output = lab(&[&["report", &kept], &forms[..]].concat());
    assert!(output.status.success(), "{}", errors(&output));
    let read = |path: &String| fs::read_to_string(path).unwrap();
    assert!(read(&csv).starts_with("workload.bytes,status,server,driver,figure"), "{}", read(&csv));
    assert_eq!(read(&csv).lines().filter(|line| line.contains(",tokio-raw,")).count(), 3 * 7);
    assert!(read(&markdown).contains("| 4096 | tokio-raw |"), "{}", read(&markdown));
    assert_is_a_page_of_its_own(&read(&html));
    assert!(read(&html).contains("A &lt;small&gt; one"));
    let again = lab(&["report", &whole]);
    assert!(again.status.success(), "{}", errors(&again));
    assert_eq!(again.stdout, output.stdout);
}

#[test]
fn what_are_no_results_is_told() {
    let folder = Folder::new("else", "title = \"x\"");
    for path in [folder.path("plan.toml"), folder.path("none.json")] {
        let output = lab(&["report", &path]);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains(&path), "{}", errors(&output));
    }
}

/// Every element that is opened is closed, nothing is fetched or run, and every
/// number in a plot is one.
fn assert_is_a_page_of_its_own(page: &str) {
    for reference in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
    for broken in ["NaN", "inf ", "inf\""] {
        assert!(!page.contains(broken), "the page has {broken}");
    }
    let mut open = Vec::new();
    for element in page.split('<').skip(1) {
        let name = element.split([' ', '>']).next().unwrap();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if matches!(name, "!DOCTYPE" | "meta" | "br") => {}
            None => open.push(name),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(page.matches("<svg").count() > 10);
}
